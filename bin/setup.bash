# What a build needs of the machine; sourced by the scripts beside it.

# A header that the compiler must find, and the Debian package that holds it.
headers=(zlib.h:zlib1g-dev sqlite3.h:libsqlite3-dev)
# Where compilers look; a header below another folder belongs to something else (node has a zlib.h).
include_folders=(/usr/include '/usr/include/*-linux-*' /usr/local/include)

need_swift() {
  type -P swift >/dev/null && return
  {
    echo "agent-eval: swift is not in PATH. Swift 6.3 is needed:"
    echo "  https://www.swift.org/install/linux/"
  } >&2
  exit 2
}

has_header() {
  local folder
  for folder in "${include_folders[@]}"; do
    if compgen -G "$folder/$1" >/dev/null; then return 0; fi
  done
  # Elsewhere, where this compiler looks all the same.
  type -P clang >/dev/null && clang -fsyntax-only -include "$1" -x c /dev/null 2>/dev/null
}

# Variables that services of continuous integration set; the program knows the same.
ci_variables=(CI GITHUB_ACTIONS GITLAB_CI BUILDKITE TF_BUILD JENKINS_URL CIRCLECI TRAVIS TEAMCITY_VERSION
  APPVEYOR DRONE CODEBUILD_BUILD_ID BITBUCKET_BUILD_NUMBER)

# Whether one of them is there, and neither empty nor 0 nor false.
is_under_ci() {
  local name
  for name in "${ci_variables[@]}"; do
    case ${!name:-} in '' | 0 | [Ff][Aa][Ll][Ss][Ee]) ;; *) return 0 ;; esac
  done
  return 1
}

# Installs what is missing as root or under CI; elsewhere says how, and stops.
need_libraries() {
  local entry missing=() names=()
  for entry in "${headers[@]}"; do
    has_header "${entry%%:*}" && continue
    names+=("${entry%%:*}")
    missing+=("${entry#*:}")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  local sudo=()
  [[ $EUID -eq 0 ]] || sudo=(sudo -n)
  if type -P apt-get >/dev/null && { [[ $EUID -eq 0 ]] || is_under_ci; }; then
    install_packages "${missing[@]}" && return
    echo "agent-eval: apt-get could not install ${missing[*]}." >&2
  fi
  {
    echo "agent-eval: no header ${names[*]} where the compiler looks. Install what holds it, on Debian and"
    echo "Ubuntu with"
    echo "  sudo apt-get install -y ${missing[*]}"
    echo "and elsewhere the development packages of zlib and SQLite."
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
