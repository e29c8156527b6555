public import AgentTrace

/// A run as lines that a person takes in at a glance, one event after the other; also while it runs.
///
/// Each line: the event's number, what happened in one word, and what it was about. Starts of tools
/// and replies of models are told by the lines that follow from them.
public struct Timeline {
  private let painter: Painter
  private let width: Int
  private let headsSteps: Bool
  private let isFull: Bool
  private var step = -1
  /// Where a pipeline stands; `nil` for any other run. A pipeline has no steps.
  private var pipeline: PipelineState?
  private let labelWidth = 9

  /// - Parameters:
  ///   - width: characters of a line at most, no less than 40; ``Visible/unlimited`` to cut nothing.
  ///   - isFull: whether texts break lines where they do, and large values stand on lines of their own.
  ///   - headsSteps: whether a line of its own stands above each step.
  public init(
    painter: Painter, width: Int = 120, isFull: Bool = false, headsSteps: Bool = true
  ) {
    self.painter = painter
    self.width = max(40, width)
    self.isFull = isFull
    self.headsSteps = headsSteps
  }

  /// The lines that tell of the next event; often one, sometimes none.
  public mutating func lines(for event: Event) -> [String] {
    if event.beginsPipeline { pipeline = PipelineState() }
    pipeline?.apply(event)
    var told = tell(event)
    if event.type == .stop, let pipeline { told.append(Self.used(by: pipeline)) }
    return lines(told, seq: event.seq, step: event.step, isStop: event.type == .stop)
  }

  /// The lines that tell of the next event, where that is a context.
  public mutating func lines(for context: ContextOutline) -> [String] {
    lines([entry(context.line)], seq: context.seq, step: context.step, isStop: false)
  }

  private mutating func lines(
    _ told: [Entry], seq: Int, step: Int, isStop: Bool
  ) -> [String] {
    guard !told.isEmpty else { return [] }
    var lines: [String] = []
    if headsSteps, pipeline == nil, step != self.step, step > 0, !isStop {
      lines.append(painter.paint("step \(step)", .heading))
    }
    self.step = step
    for (index, entry) in told.enumerated() {
      guard entry.isTold || isFull else {
        lines.append(line(index == 0 ? seq : nil, entry))
        continue
      }
      if isFull {
        lines += fullLines(index == 0 ? seq : nil, entry)
        continue
      }
      for (number, piece) in wrapped(entry.text).enumerated() {
        let label = number == 0 ? entry.label : ""
        lines.append(
          line(index + number == 0 ? seq : nil, Entry(label, entry.role, piece)))
      }
    }
    return lines
  }

  /// What one line says. The texts are as the trace has them: nothing is made visible yet.
  public struct Entry: Sendable {
    /// What happened, in one word of ours.
    public var label: String
    /// What the label is.
    public var role: Painter.Role
    /// What it was about.
    public var text: String
    /// Stands at the end, however long the text.
    public var tail = ""
    /// Whether what no line has room for stands on further lines: an error is told to its end.
    public var isTold = false

    /// Text and tail are made visible where the entry is laid out; the label is not.
    public init(_ label: String, _ role: Painter.Role, _ text: String, tail: String = "") {
      self.label = label
      self.role = role
      self.text = text
      self.tail = tail
    }
  }

  /// An entry on the lines that its text has, what stands at its end on the first.
  private func fullLines(_ seq: Int?, _ entry: Entry) -> [String] {
    let texts = entry.text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    return texts.enumerated().map { number, text in
      var one = Entry(number == 0 ? entry.label : "", entry.role, String(text))
      if number == 0 { one.tail = entry.tail }
      return line(number == 0 ? seq : nil, one)
    }
  }

  private func line(_ seq: Int?, _ entry: Entry) -> String {
    let number = Self.padded(seq.map(String.init) ?? "", 5)
    let label = entry.label + String(repeating: " ", count: max(0, labelWidth - entry.label.count))
    var room = width - number.count - 2 - labelWidth - 2
    // Call ids come from the trace like everything else: made safe, and never all of the line.
    let tailRoom = width == Visible.unlimited ? room : min(40, room - 12)
    var tail = ""
    if !entry.tail.isEmpty, tailRoom > 1 {
      tail = "  " + Visible.line(entry.tail, width: tailRoom)
      room -= tail.count
    }
    return painter.paint(number, .faint) + "  " + painter.paint(label, entry.role) + "  "
      + Visible.line(entry.text, width: room) + painter.paint(tail, .faint)
  }

  /// A text in pieces that a line has room for, broken between words where it can be.
  private func wrapped(_ text: String) -> [String] {
    let room = width - 5 - 2 - labelWidth - 2
    var pieces: [String] = []
    var left = Visible.line(text)[...]
    while let end = left.index(left.startIndex, offsetBy: room, limitedBy: left.endIndex),
      end < left.endIndex
    {
      var piece = left[..<end]
      if let space = piece.lastIndex(of: " "), space > piece.startIndex { piece = piece[..<space] }
      pieces.append(String(piece))
      left = left[piece.endIndex...].drop { $0 == " " }
    }
    return pieces + [String(left)]
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  // MARK: What each event says

  /// What an event says, line by line; nothing where other lines tell of it.
  public static func entries(for event: Event) -> [Entry] {
    Timeline(painter: Painter(isColoured: false)).tell(event)
  }

  /// Nothing where other lines tell of the event. The texts are as the trace has them.
  func tell(_ event: Event) -> [Entry] {
    if let outline = ContextOutline(counting: event) { return [entry(outline.line)] }
    guard let payload = try? EventPayload(of: event) else {
      return [Entry("unclear", .warning, "\(event.type) with data of another shape")]
    }
    guard let data = payload.data else {
      return [Entry("later", .faint, "\(event.type), of a newer version")]
    }
    return data.lines(in: event).map(entry)
  }

  private func entry(_ line: EventLine) -> Entry {
    let pieces = line.text.pieces.map { piece in
      switch piece {
      case .words(let words): words
      case .value(let value): text(value)
      }
    }
    var entry = Entry(line.label, line.tone, pieces.joined(), tail: line.tail)
    entry.isTold = line.isWhole
    return entry
  }

  /// Bytes of a value of which all is shown.
  private static let limitBytes = 64 << 20

  private func text(_ value: JSONValue) -> String {
    let value = FileText.told(value)
    if case .string(let text) = value { return text }
    if isFull { return FullText.lines(of: value).joined(separator: "\n") }
    return CanonicalJSON.prefix(
      of: value, limitBytes: width == Visible.unlimited ? Self.limitBytes : 400)
  }
}
