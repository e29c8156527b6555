import AgentTrace
import EvalLoading
import FuzzSupport

let scratch = Scratch()

/// Holds the loader of case, agent and policy files to itself: bytes in YAML, JSON and JSONL.
///
/// The first byte chooses: the text as it is, in every format; or a JSON value that the harness writes
/// down in each format itself, so that all of them must load equally.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFiles(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let kind = input.byte()
  let bytes = input.bytes
  scratch.clear()
  if kind % 2 == 0 {
    checkText(bytes)
  } else if let value = try? JSONValue(parsing: bytes) {
    checkValue(value)
  } else {
    checkText(bytes)
  }
  return 0
}

/// Whatever stands in a file, what is said of it is sound; and what is both JSON and YAML means the
/// same.
private func checkText(_ bytes: [UInt8]) {
  let yaml = Loading(bytes, "file.yaml")
  let json = Loading(bytes, "file.json")
  _ = Loading(bytes, "file.jsonl")
  yaml.requireSame(as: json, "the same text in JSON and YAML")
}

/// A value written down in several ways loads the same from each.
private func checkValue(_ value: JSONValue) {
  let json = Loading(CanonicalJSON.encode(value, form: .plain), "file.json")
  let block = Loading(YAMLText.block(value), "file.yaml")
  json.requireSame(as: block, "the same value in JSON and block YAML")
  let spaced = Loading(YAMLText.spacedJSON(value), "file.json")
  json.requireEqual(spaced, "the same JSON with white space")
  guard case .object(let object) = value, object["cases"] == nil, object["$schema"] == nil,
    object["caseId"] != nil
  else { return }
  let line = Loading(CanonicalJSON.encode(value, form: .plain) + [0x0a, 0x0a], "file.jsonl")
  json.requireCases(of: line, "a case in JSON and on a line")
  let list = Loading(CanonicalJSON.encode([value], form: .plain), "file.json")
  json.requireCases(of: list, "a case alone and in a list")
  let wrapped = Loading(CanonicalJSON.encode(["cases": [value]], form: .plain), "file.json")
  json.requireCases(of: wrapped, "a case alone and below “cases”")
}
