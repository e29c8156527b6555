/// Who a run acts for: the part of the policy context that does not change during it.
public struct PolicyContext: Sendable, Hashable {
  /// The principal on whose behalf the agent runs.
  public var actorId: String?
  /// The tenant of that principal; `nil` where none was given.
  public var tenantId: String?
  /// The route that led to the agent; `nil` where none was given.
  public var route: String?
  /// Anything else that rules may look at.
  public var attributes: JSONObject

  /// Without arguments, nobody is known.
  public init(
    actorId: String? = nil, tenantId: String? = nil, route: String? = nil,
    attributes: JSONObject = [:]
  ) {
    self.actorId = actorId
    self.tenantId = tenantId
    self.route = route
    self.attributes = attributes
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object, path: "policyContext")
    actorId = try reader.optionalString("actorId")
    tenantId = try reader.optionalString("tenantId")
    route = try reader.optionalString("route")
    attributes = try reader.optionalObject("attributes") ?? [:]
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("actorId", actorId.map(JSONValue.string)), ("tenantId", tenantId.map(JSONValue.string)),
      ("route", route.map(JSONValue.string)),
      ("attributes", attributes.isEmpty ? nil : .object(attributes)),
    ])
  }
}
