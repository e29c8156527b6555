/// Elements that can begin, in the order in which they came.
struct ElementQueue {
  private var elements: [Int] = []
  private var head = 0

  var count: Int { elements.count - head }
  var first: Int? { head < elements.count ? elements[head] : nil }

  mutating func append(_ element: Int) { elements.append(element) }

  mutating func removeFirst() {
    head += 1
    // What has gone is let go of once it is the larger part.
    if head > 64, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
  }
}
