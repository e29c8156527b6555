import AgentTrace

/// Expands a case with a `table` into one case for each row: `${column}` in a text is the row's value.
///
/// A text that is nothing but `${column}` becomes the value as it is, a number or a list too. `$${` is a
/// plain `${`. Within `human`, names that are no column stay, for the person's own templates.
struct CaseTable {
  static let rowLimit = 10_000

  /// The schema of the key `table`.
  static let schema: JSONValue = [
    "type": "array", "minItems": 1, "maxItems": JSONValue(rowLimit),
    "items": ["type": "object", "minProperties": 1],
    "description": "Rows of values; the case is made once for each, with ${column} filled in.",
  ]

  private let rows: [JSONObject]

  /// - Returns: `nil` after reporting what is wrong with the table.
  init?(_ value: JSONValue, _ reader: FieldReader) {
    var rows: [JSONObject] = []
    let fault: String? = reader.within(.key("table")) {
      guard let elements = value.arrayValue, !elements.isEmpty else {
        return "should be a list of rows, each a mapping from columns to values"
      }
      guard elements.count <= Self.rowLimit else { return "has more than \(Self.rowLimit) rows" }
      for element in elements {
        guard let row = element.objectValue, !row.isEmpty else {
          return "should be a list of rows, each a mapping from columns to values"
        }
        rows.append(row)
      }
      return nil
    }
    if let fault {
      reader.within(.key("table")) { reader.report(fault) }
      return nil
    }
    self.rows = rows
  }

  /// The cases, one for each row; ends after the first with a mistake.
  func expand(_ object: JSONObject, _ reader: FieldReader, _ take: (JSONObject) -> Void) {
    var template = object
    template["table"] = nil
    let isNumbered = !(object["caseId"]?.stringValue?.contains("${") ?? true)
    for (index, row) in rows.enumerated() {
      let before = reader.errorCount
      var filled = JSONObject()
      for member in template {
        reader.within(.key(member.key)) {
          filled[member.key] = fill(
            member.value, row, reader, isStrict: member.key != "human", depth: 0)
        }
      }
      if isNumbered, let caseId = filled["caseId"]?.stringValue {
        filled["caseId"] = .string("\(caseId)-\(index + 1)")
      }
      take(filled)
      if reader.errorCount > before { return }
    }
  }

  private func fill(
    _ value: JSONValue, _ row: JSONObject, _ reader: FieldReader, isStrict: Bool, depth: Int
  ) -> JSONValue {
    guard depth < 200 else { return value }
    switch value {
    case .string(let text):
      return text.utf8.contains(UInt8(ascii: "$")) ? fill(text, row, reader, isStrict) : value
    case .array(let elements):
      return .array(
        elements.enumerated().map { index, element in
          reader.within(.index(index)) {
            fill(element, row, reader, isStrict: isStrict, depth: depth + 1)
          }
        })
    case .object(let object):
      return .object(
        object.mapMembers { key, value in
          reader.within(.key(key)) {
            fill(value, row, reader, isStrict: isStrict, depth: depth + 1)
          }
        })
    default: return value
    }
  }

  private func fill(
    _ text: String, _ row: JSONObject, _ reader: FieldReader, _ isStrict: Bool
  ) -> JSONValue {
    var (bytes, result) = (Array(text.utf8)[...], [UInt8]())
    let (dollar, open, close) = (UInt8(ascii: "$"), UInt8(ascii: "{"), UInt8(ascii: "}"))
    while let byte = bytes.first {
      if bytes.starts(with: [dollar, dollar, open]) {
        result += [dollar, open]
        bytes = bytes.dropFirst(3)
        continue
      }
      guard bytes.starts(with: [dollar, open]), let end = bytes.firstIndex(of: close) else {
        result.append(byte)
        bytes = bytes.dropFirst()
        continue
      }
      let name = String(decoding: bytes[(bytes.startIndex + 2)..<end], as: UTF8.self)
      if let value = row[name] {
        // Alone in its text, a value stays what it is.
        if result.isEmpty, bytes.startIndex == 0, end == bytes.endIndex - 1 { return value }
        result += (value.stringValue ?? CanonicalJSON.string(value, form: .plain)).utf8
      } else {
        if isStrict {
          reader.report(
            "the table has no column \(name.quoted)",
            hint: "known here: \(row.keys.joined(separator: ", ")); write $${ for a plain ${")
        }
        result += bytes[bytes.startIndex...end]
      }
      bytes = bytes[(end + 1)...]
    }
    return .string(String(decoding: result, as: UTF8.self))
  }
}
