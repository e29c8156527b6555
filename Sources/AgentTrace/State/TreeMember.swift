extension TreeEvents {
  /// A run whose events are told.
  public struct Member: Sendable, Hashable {
    /// The names of the tools that led to it, outermost first; empty for the root.
    public var path: [String]
    /// What its call ids begin with; empty for the root.
    var prefix: String
    /// The step of the root that its events stand in; `nil` for the root.
    public fileprivate(set) var step: Int?
    /// Microseconds of the root's active run time when it began.
    var start: Int
    /// The call that it is, as the tree names it, whichever attempt; `nil` for the root, and for the run of a task.
    var call: String?
    /// Whether its answer is the root's, because the root handed over to it.
    var isHandoff = true
    /// The run that started it; empty for the root.
    var parentRunId = ""

    /// The root.
    public static let root = Member(path: [], prefix: "", step: nil, start: 0)

    /// A run that a call of a tool is, whichever call: for whoever looks at that run alone, whose steps and times are
    /// its own then.
    public func called(by tool: String) -> Member {
      Member(path: path + [tool], prefix: "\(prefix)\(tool)/", step: nil, start: 0)
    }

    /// A call of its own, as the tree names it.
    public func told(callId: String) -> String { prefix + callId }

    /// The call that it is, as the tree names it; `nil` for the root.
    public var callId: String? { prefix.isEmpty ? nil : String(prefix.dropLast()) }

    /// Who makes its calls; `nil` for the root, whose agent that is.
    public var caller: String? { path.isEmpty ? nil : path.joined(separator: "/") }
  }
}

extension TreeEvents.Member {
  /// Puts the member's name before who an event of it speaks of, and its calls' names before those that the event names.
  func name(_ event: inout Event) {
    guard let caller else { return }
    if Self.speaks(event.type) {
      let own = event.data["caller"]?.stringValue
      event.data["caller"] = .string(own.map { "\(caller)/\($0)" } ?? caller)
    }
    Self.changeCalls(&event) { prefix + $0 }
  }

  /// The event that was named, as the log of the member has it.
  ///
  /// - Parameter own: what the named one says of it.
  func original(of event: Event, _ own: TreeEvents.Own) -> Event {
    var original = event
    original.step = own.step
    original.type = own.type ?? event.type
    original.t = max(0, event.t.subtractingReportingOverflow(start).partialValue)
    if let data = own.data {
      original.data = data
      return original
    }
    original.data[TreeEvents.Own.key] = nil
    guard own.type == nil else { return original }
    original.data["ofAgent"] = nil
    if Self.speaks(event.type), let name = event.data["caller"]?.stringValue {
      let own = name.utf8.dropFirst((caller?.utf8.count ?? 0) + 1)
      original.data["caller"] =
        own.isEmpty ? Optional.none : .string(String(decoding: own, as: UTF8.self))
    }
    Self.changeCalls(&original, self.own)
    return original
  }

  /// The name of one of its calls without what leads to the member.
  func own(_ callId: String) -> String {
    String(decoding: callId.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
  }

  /// Whether events of a type say who speaks.
  private static func speaks(_ type: EventType) -> Bool {
    switch type {
    case .decision, .toolStarted, .toolResult, .unseen: true
    default: false
    }
  }

  /// Changes each name of a call that an event holds.
  private static func changeCalls(_ event: inout Event, _ change: (String) -> String) {
    switch event.type {
    case .decision:
      event.data["calls"] = event.data["calls"]?.arrayValue.map { calls in
        .array(
          calls.map { call in
            guard var object = call.objectValue, let callId = object["callId"]?.stringValue else {
              return call
            }
            object["callId"] = .string(change(callId))
            return .object(object)
          })
      }
    case .toolStarted, .toolResult, .policyDecision, .approval, .memoryRead, .memoryWritten:
      if let callId = event.data["callId"]?.stringValue {
        event.data["callId"] = .string(change(callId))
      }
      if let grantedTo = event.data["context"]?["approval"]?["callId"]?.stringValue,
        var context = event.data["context"]?.objectValue,
        var approval = context["approval"]?.objectValue
      {
        approval["callId"] = .string(change(grantedTo))
        context["approval"] = .object(approval)
        event.data["context"] = .object(context)
      }
    default: break
    }
  }
}

extension TreeEvents.Member {
  /// What the row says of the run where it begins.
  var encoded: JSONValue {
    var object: JSONObject = [
      "path": JSONValue(path), "prefix": .string(prefix), "start": JSONValue(start),
      "parent": .string(parentRunId),
    ]
    object["step"] = step.map { JSONValue($0) }
    object["call"] = call.map(JSONValue.string)
    return .object(object)
  }

  /// `nil` where the value is nothing that was encoded so.
  init?(decoding value: JSONValue) {
    guard let path = value["path"]?.arrayValue, let prefix = value["prefix"]?.stringValue,
      let start = value["start"]?.intValue, let parent = value["parent"]?.stringValue
    else { return nil }
    self.init(
      path: path.compactMap(\.stringValue), prefix: prefix, step: value["step"]?.intValue,
      start: start, call: value["call"]?.stringValue, isHandoff: false, parentRunId: parent)
  }
}

extension TreeEvents {
  /// What an event of a child was in the child's own log, beyond what the row says of it.
  struct Own {
    /// The key that it stands under in the event of the row.
    static let key = "ofRun"

    var step: Int
    /// `nil` where the row has it too.
    var type: EventType?
    /// `nil` where those of the row can be turned back.
    var data: JSONObject?
    /// What the run is in the tree, where the event begins it.
    var member: Member?

    init(_ event: Event, of member: Member, toldAs type: EventType) {
      step = event.step
      self.type = type == event.type ? nil : event.type
      // Tools are told as the whole tree knows them.
      data = type == .toolsListed ? event.data : nil
      self.member = event.type == .runStarted ? member : nil
    }

    /// `nil` for what is no event of a child.
    init?(_ event: Event) {
      guard let own = event.data[Self.key], let step = own["step"]?.intValue else { return nil }
      self.step = step
      type = own["type"]?.stringValue.map(EventType.init(rawValue:))
      data = own["data"]?.objectValue
      member = own["member"].flatMap(Member.init(decoding:))
    }

    var encoded: JSONValue {
      var object: JSONObject = ["step": JSONValue(step)]
      object["type"] = type.map { .string($0.rawValue) }
      object["data"] = data.map(JSONValue.object)
      object["member"] = member?.encoded
      return .object(object)
    }
  }
}

extension Event {
  /// Whether it is one of a run below the root, in a row of events; see ``TreeEvents``.
  package var isOfChild: Bool { data[TreeEvents.Own.key] != nil }

  /// What a person said of a task of a pipeline, the root's or one below it; `nil` for any other event.
  package var wordOnTask: TaskAnswered? {
    guard type == .taskAnswered || TreeEvents.Own(self)?.type == .taskAnswered else { return nil }
    return try? TaskAnswered(decoding: data)
  }

  /// The names that lead to the run of a child, of the event that begins it in a row; `nil` for any other.
  package var pathOfChild: [String]? { TreeEvents.Own(self)?.member?.path }
}
