/// An expectation of a whole that only the end of a run decides, so that no guard holds a run to it meanwhile.
protocol EndExpectation: Expectation {}

extension EndExpectation {
  var isOfEachRun: Bool { false }
  var undecided: [UndecidedPart] { [UndecidedPart(place: [Self.key], why: UndecidedPart.end)] }
}
