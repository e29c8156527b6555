import TestSupport

/// Whether there is a Python, of whatever kind: for its pseudo-terminal, and for agents that need no more of it.
func hasPython() async -> Bool {
  (try? await shell("python3 -c 'import json, pty, urllib.request'")) != nil
}
