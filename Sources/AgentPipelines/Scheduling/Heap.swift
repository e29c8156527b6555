/// A row from which the least element is taken first. Adding and taking cost the logarithm of its length.
struct Heap<Element: Comparable> {
  private var elements: [Element] = []

  var first: Element? { elements.first }
  var isEmpty: Bool { elements.isEmpty }
  var count: Int { elements.count }

  mutating func insert(_ element: Element) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard elements[child] < elements[parent] else { return }
      elements.swapAt(child, parent)
      child = parent
    }
  }

  mutating func popFirst() -> Element? {
    guard let first = elements.first else { return nil }
    let last = elements.removeLast()
    guard !elements.isEmpty else { return first }
    elements[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < elements.count {
        if elements[child] < elements[least] { least = child }
      }
      guard least != parent else { return first }
      elements.swapAt(parent, least)
      parent = least
    }
  }
}

/// Numbers in order, each once.
struct SortedNumbers: Sequence {
  private var numbers: [Int] = []

  mutating func insert(_ number: Int) {
    let place = self.place(of: number)
    if place == numbers.count || numbers[place] != number { numbers.insert(number, at: place) }
  }

  mutating func remove(_ number: Int) {
    let place = self.place(of: number)
    if place < numbers.count, numbers[place] == number { numbers.remove(at: place) }
  }

  mutating func popFirst() -> Int? { numbers.isEmpty ? nil : numbers.removeFirst() }

  func makeIterator() -> IndexingIterator<[Int]> { numbers.makeIterator() }

  private func place(of number: Int) -> Int {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
