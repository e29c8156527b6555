import AgentRuntime
import AgentTrace
import TraceMatching

/// Expands a case with a `table` into one case for each row: `${column}` in a text is the row's value.
///
/// A text that is nothing but `${column}` becomes the value as it is, a number or a list too. `$${` is a
/// plain `${`. Within `human`, names that are no column stay, for the person's own templates; within
/// `agent` those that a command is given. A column by the name of a key that says what a run is made with says so of
/// the row's run.
struct CaseTable {
  static let rowLimit = 10_000

  /// Names that mean something else where `${…}` stands in a case: what a command is given, and what a
  /// person's script looks at.
  static let reservedNames =
    CommandAgent.names + [
      "goal", "heard", "last", "number", "replies", "results", "step", "try",
    ]

  /// The schema of the key `table`.
  static let schema: JSONValue = [
    "type": "array", "minItems": 1, "maxItems": JSONValue(rowLimit),
    "items": [
      "type": "object", "minProperties": 1,
      "propertyNames": ["not": ["enum": JSONValue(reservedNames)]],
      "properties": CaseConditionsFile.schemas,
    ],
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
        if let name = row.keys.first(where: Self.reservedNames.contains) {
          return "\(name.quoted) cannot be a column: ${\(name)} means something else in a case"
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

  /// The cases, one for each row, and what the row says of the run; ends after the first with a mistake.
  func expand(
    _ object: JSONObject, _ reader: FieldReader, _ take: (JSONObject, CaseConditions) -> Void
  ) {
    var template = object
    template["table"] = nil
    warnOfSlips(in: template, reader)
    let isNumbered = !(object["caseId"]?.stringValue?.contains("${") ?? true)
    for (index, row) in rows.enumerated() {
      let before = reader.errorCount
      var filled = JSONObject()
      for member in template {
        reader.within(.key(member.key)) {
          filled[member.key] = fill(
            member.value, row, reader, Others(in: member.value, under: member.key), depth: 0)
        }
      }
      if isNumbered, let caseId = filled["caseId"]?.stringValue {
        filled["caseId"] = .string("\(caseId)-\(index + 1)")
      }
      let conditions = reader.within(.key("table")) {
        reader.within(.index(index)) { CaseConditionsFile.read(among: row, reader) }
      }
      take(filled, conditions)
      if reader.errorCount > before { return }
    }
  }

  private static let conditions = CaseConditionsFile.keys.joined(separator: ", ")

  /// The names of the columns.
  var columns: Set<String> { Set(rows.flatMap(\.keys)) }

  /// Reports a column that is called as a key of a case that rows cannot have, and warns of one that nothing in the case asks for and that is called nearly as a key that says something of a run.
  private func warnOfSlips(in template: JSONObject, _ reader: FieldReader) {
    let text = CanonicalJSON.string(.object(template), form: .plain)
    var seen: Set<String> = []
    for (index, row) in rows.enumerated() {
      for name in row.keys
      where !CaseConditionsFile.keys.contains(name) && seen.insert(name).inserted {
        if CaseFile.fields.contains(where: { $0.name == name }), !text.contains("${\(name)}") {
          reader.report(
            "a row does not say “\(name)”, and no \u{24}{\(name)} stands in the case",
            hint: "write it in the case; of the run a row may say \(Self.conditions)",
            deeper: [.key("table"), .index(index), .key(name)])
          continue
        }
        guard let nearest = Spelling.nearest(to: name, among: CaseConditionsFile.keys),
          !text.contains("${\(name)}")
        else { continue }
        reader.report(
          "no \u{24}{\(name)} stands in the case, so that this column says nothing",
          hint: "did you mean “\(nearest)”?", as: .warning,
          deeper: [.key("table"), .index(index), .key(name)])
      }
    }
  }

  /// What becomes of `${…}` that is no column of the table.
  private enum Others {
    /// A mistake.
    case none
    /// Stays: a person's own templates.
    case all
    /// Those of a command stay, and are read there.
    case command

    init(in value: JSONValue, under key: String) {
      switch (key, value) {
      case ("human", _): self = .all
      case ("agent", .object): self = .command
      default: self = .none
      }
    }
  }

  private func fill(
    _ value: JSONValue, _ row: JSONObject, _ reader: FieldReader, _ others: Others, depth: Int
  ) -> JSONValue {
    guard depth < 200 else { return value }
    switch value {
    case .string(let text):
      return text.utf8.contains(UInt8(ascii: "$")) ? fill(text, row, reader, others) : value
    case .array(let elements):
      return .array(
        elements.enumerated().map { index, element in
          reader.within(.index(index)) { fill(element, row, reader, others, depth: depth + 1) }
        })
    case .object(let object):
      return .object(
        object.mapMembers { key, value in
          reader.within(.key(key)) { fill(value, row, reader, others, depth: depth + 1) }
        })
    default: return value
    }
  }

  private func fill(
    _ text: String, _ row: JSONObject, _ reader: FieldReader, _ others: Others
  ) -> JSONValue {
    /// What a command reads once more stays plain there.
    func escaped(_ text: String) -> String {
      others == .command ? PlaceholderText.escaped(text) : text
    }
    let pieces = PlaceholderText(text).pieces
    // Alone in its text, a value stays what it is.
    if case .name(let name)? = pieces.first, pieces.count == 1, let value = row[name] {
      return value.stringValue.map { .string(escaped($0)) } ?? value
    }
    var result = ""
    for piece in pieces {
      switch piece {
      case .text(let plain): result += escaped(plain)
      case .name(let name):
        if let value = row[name] {
          result += escaped(value.stringValue ?? CanonicalJSON.string(value, form: .plain))
          continue
        }
        if others == .none || others == .command && !CommandAgent.names.contains(name) {
          let known = row.keys + (others == .command ? CommandAgent.names : [])
          reader.report(
            "the table has no column \(name.quoted)",
            hint: "known here: \(known.joined(separator: ", ")); write $${ for a plain ${")
        }
        result += "${\(name)}"
      }
    }
    return .string(result)
  }
}
