import AgentTrace

/// Frames of an `application/vnd.amazon.eventstream`, written by the plainest reading of
/// https://smithy.io/2.0/aws/amazon-eventstream.html.
public enum EventFrames {
  /// An event with JSON in it.
  public static func event(_ name: String, _ data: JSONValue) -> [UInt8] {
    frame(
      [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")],
      CanonicalJSON.encode(data, form: .plain))
  }

  /// An error that the service knows.
  public static func exception(_ type: String, _ message: String) -> [UInt8] {
    frame(
      [
        (":exception-type", type), (":content-type", "application/json"),
        (":message-type", "exception"),
      ], CanonicalJSON.encode(["message": .string(message)], form: .plain))
  }

  /// Headers that are texts, and a payload.
  public static func frame(_ headers: [(String, String)], _ payload: [UInt8]) -> [UInt8] {
    var head: [UInt8] = []
    for (name, value) in headers {
      head.append(UInt8(name.utf8.count))
      head += Array(name.utf8)
      head.append(7)
      head += [UInt8(value.utf8.count / 256), UInt8(value.utf8.count % 256)]
      head += Array(value.utf8)
    }
    var frame = number(UInt32(16 + head.count + payload.count)) + number(UInt32(head.count))
    frame += number(crc32(frame))
    frame += head + payload
    return frame + number(crc32(frame))
  }

  public static func number(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(number >> $0 & 0xff) }
  }

  /// Bit by bit.
  public static func crc32(_ bytes: [UInt8]) -> UInt32 {
    var crc: UInt32 = 0xffff_ffff
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
    }
    return ~crc
  }
}
