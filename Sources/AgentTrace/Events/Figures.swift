/// Figures as people read them.
public enum Figures {
  /// `3 calls`, `1 call`; `2 retries`, where an s behind the noun does not do.
  public static func count(_ number: Int, _ noun: String, plural: String? = nil) -> String {
    "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
  }

  /// The same of an amount that need not be whole: `1 second`, `1.5 seconds`.
  package static func count(_ amount: Double, _ noun: String, plural: String) -> String {
    "\(JSONValue(amount)) \(amount == 1 ? noun : plural)"
  }

  /// A sum of money to a millionth, without the dust that adding doubles leaves.
  public static func cost(_ cost: Double) -> String {
    let rounded = (cost * 1_000_000).rounded() / 1_000_000
    return JSONValue(rounded).description
  }

  /// A sum of money as it is compared with another and told: to a billionth, below 1 to a thousandth of that, without
  /// the dust that adding doubles leaves. Logs hold the sum as it came.
  package static func money(_ sum: Double) -> Double {
    // Further on, doubles tell no billionths.
    guard sum.magnitude < 1_000_000 else { return sum }
    let units = sum.magnitude < 1 ? 1e12 : 1e9
    return (sum * units).rounded() / units
  }

  /// Whether a limit of money is used up.
  package static func isSpent(_ limit: Double, by cost: Double) -> Bool {
    money(cost) >= money(limit)
  }

  /// `850 µs`, `12 ms`, `1.5 s`, `2 min 5 s`.
  public static func duration(microseconds: Int) -> String {
    switch microseconds {
    case ..<1_000: return "\(microseconds) µs"
    case ..<1_000_000: return "\(microseconds / 1_000) ms"
    case ..<60_000_000:
      let tenths = microseconds / 100_000
      return "\(tenths / 10).\(tenths % 10) s"
    default:
      let seconds = microseconds / 1_000_000
      return "\(seconds / 60) min \(seconds % 60) s"
    }
  }
}

extension [String] {
  /// `a, b or c`.
  package var alternatives: String {
    count < 2 ? joined() : dropLast().joined(separator: ", ") + " or " + self[count - 1]
  }
}
