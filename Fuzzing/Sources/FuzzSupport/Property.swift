import Glibc

/// Ends the process where something does not hold, so that libFuzzer keeps the input.
///
/// `assert` would be left out of an optimised build, and `precondition` says nothing there.
public func require(
  _ isHeld: Bool, _ property: @autoclosure () -> String, file: StaticString = #fileID,
  line: UInt = #line
) {
  if !isHeld { violated(property(), file: file, line: line) }
}

/// Ends the process: a property does not hold.
public func violated(
  _ property: String, file: StaticString = #fileID, line: UInt = #line
) -> Never {
  let text = Array("PROPERTY VIOLATED at \(file):\(line): \(property)\n".utf8)
  _ = text.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
  abort()
}

private let explains = getenv("AGENT_EVAL_FUZZ_EXPLAIN") != nil

/// Says what became of an input, where `AGENT_EVAL_FUZZ_EXPLAIN` is set: shows whether a seed gets as
/// far as it should.
public func explain(_ words: @autoclosure () -> String) {
  guard explains else { return }
  let text = Array("\(words())\n".utf8)
  _ = text.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
}
