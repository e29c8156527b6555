# What a build needs of the machine; sourced by the scripts beside it.

# A header that the compiler must find, and the Debian package that holds it.
headers=(zlib.h:zlib1g-dev sqlite3.h:libsqlite3-dev)

need_swift() {
  type -P swift >/dev/null && return
  {
    echo "agent-eval: swift is not in PATH. Swift 6.2 or newer is needed:"
    echo "  https://www.swift.org/install/linux/"
  } >&2
  exit 2
}

# Installs what is missing as root or under CI; elsewhere says how, and stops.
need_libraries() {
  local entry missing=()
  for entry in "${headers[@]}"; do
    compgen -G "/usr/include/${entry%%:*}" >/dev/null \
      || compgen -G "/usr/include/*/${entry%%:*}" >/dev/null \
      || compgen -G "/usr/local/include/${entry%%:*}" >/dev/null \
      || missing+=("${entry#*:}")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  local sudo=()
  [[ $EUID -eq 0 ]] || sudo=(sudo -n)
  if type -P apt-get >/dev/null && [[ $EUID -eq 0 || -n ${CI:-} ]]; then
    install_packages "${missing[@]}" && return
    echo "agent-eval: apt-get could not install ${missing[*]}." >&2
  fi
  {
    echo "agent-eval: a system library is missing. Install it with"
    echo "  sudo apt-get install -y ${missing[*]}"
  } >&2
  exit 2
}

# Tries the package lists that are there before it asks for new ones.
install_packages() {
  local install=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@")
  echo "agent-eval: installing $*" >&2
  "${install[@]}" </dev/null >&2 && return
  "${sudo[@]}" apt-get update -q </dev/null >&2 && "${install[@]}" </dev/null >&2
}
