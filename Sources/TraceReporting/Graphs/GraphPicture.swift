/// A graph of tasks to be drawn: as text, as Mermaid, or as a picture.
public struct GraphPicture: Sendable {
  /// A task.
  public struct Node: Sendable {
    /// Its name.
    public var id: String
    /// What is said of it beside that; empty for nothing.
    public var note: String
    /// Whether it runs once for each of many.
    public var isMany: Bool

    /// All of it.
    public init(id: String, note: String, isMany: Bool) {
      self.id = id
      self.note = note
      self.isMany = isMany
    }
  }

  /// One task needs another, by their places.
  public struct Edge: Sendable {
    /// The one that comes first.
    public var from: Int
    /// The one that needs it.
    public var to: Int
    /// Whether elements or parts go over as they come, or a task stands in for another.
    public var isDotted: Bool

    /// All of it.
    public init(from: Int, to: Int, isDotted: Bool) {
      self.from = from
      self.to = to
      self.isDotted = isDotted
    }
  }

  /// The graph's name.
  public var name: String
  /// The tasks.
  public var nodes: [Node]
  /// Which needs which. What leads nowhere, or around in a circle, is drawn as far as it goes.
  public var edges: [Edge]

  /// All of it.
  public init(name: String, nodes: [Node], edges: [Edge]) {
    self.name = name
    self.nodes = nodes
    self.edges = edges.filter {
      nodes.indices.contains($0.from) && nodes.indices.contains($0.to)
    }
  }

  /// How far each task stands from the beginning: one more than the furthest that it needs.
  private var layers: [Int] {
    var layers = Array(repeating: 0, count: nodes.count)
    // As often as there are tasks is enough where there is no circle.
    for _ in nodes {
      var isChanged = false
      for edge in edges
      where layers[edge.to] <= layers[edge.from] && layers[edge.from] < nodes.count {
        layers[edge.to] = layers[edge.from] + 1
        isChanged = true
      }
      if !isChanged { break }
    }
    return layers
  }

  // MARK: Text

  /// One line a task, in layers, with what it needs. Control characters are made visible.
  public var text: [String] {
    let layers = layers
    let many = { (node: Node) in node.isMany ? " ×n" : "" }
    let width = nodes.map { Visible.line($0.id + many($0)).count }.max() ?? 0
    var lines = [Visible.line(name)]
    for layer in Set(layers).sorted() {
      for (place, node) in nodes.enumerated() where layers[place] == layer {
        let name = Visible.line(node.id + many(node))
        let needs = edges.filter { $0.to == place }.map {
          ($0.isDotted ? "⇢ " : "← ") + Visible.line(nodes[$0.from].id)
        }
        let padding = String(repeating: " ", count: width - name.count)
        let words = ([Visible.line(node.note)] + needs).filter { !$0.isEmpty }
        let line =
          "\(String(repeating: "  ", count: min(layer + 1, 20)))\(name)\(padding)  \(words.joined(separator: "  "))"
        lines.append(Self.trimmed(line))
      }
    }
    return lines
  }

  private static func trimmed(_ line: String) -> String {
    var line = line[...]
    while line.last == " " { line.removeLast() }
    return String(line)
  }

  // MARK: Mermaid

  /// A flow chart of Mermaid (https://mermaid.js.org/syntax/flowchart.html). Names stand as texts in quotes,
  /// with what would end them as entities.
  public var mermaid: [String] {
    var lines = ["flowchart TD"]
    for (place, node) in nodes.enumerated() {
      let note = node.note.isEmpty ? "" : "<br/>" + Self.entities(node.note)
      let text = "\"\(Self.entities(node.id))\(note)\""
      lines.append("  n\(place)" + (node.isMany ? "[[\(text)]]" : "[\(text)]"))
    }
    for edge in edges {
      lines.append("  n\(edge.from) \(edge.isDotted ? "-.->" : "-->") n\(edge.to)")
    }
    return lines
  }

  private static func entities(_ text: String) -> String {
    var escaped = ""
    for scalar in Visible.line(text).unicodeScalars {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", " ", "-", "_", ".", ",":
        escaped.unicodeScalars.append(scalar)
      default: escaped += "#\(scalar.value);"
      }
    }
    return escaped
  }

  // MARK: SVG

  private static let boxWidth = 180
  private static let boxHeight = 44
  private static let gapX = 30
  private static let gapY = 50

  /// A picture (SVG 1.1), without scripts and without anything from elsewhere.
  public var svg: [String] {
    let layers = layers
    var places: [(x: Int, y: Int)] = []
    var counts: [Int: Int] = [:]
    for layer in layers {
      let column = counts[layer, default: 0]
      counts[layer] = column + 1
      places.append(
        (
          20 + column * (Self.boxWidth + Self.gapX), 20 + layer * (Self.boxHeight + Self.gapY)
        ))
    }
    let width = (places.map(\.x).max() ?? 0) + Self.boxWidth + 20
    let height = (places.map(\.y).max() ?? 0) + Self.boxHeight + 20
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\" "
        + "font-family=\"sans-serif\" font-size=\"13\">",
      "<title>\(Self.escaped(name))</title>",
      "<defs><marker id=\"end\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">"
        + "<path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>",
    ]
    for edge in edges {
      let (from, to) = (places[edge.from], places[edge.to])
      let dash = edge.isDotted ? " stroke-dasharray=\"4 3\"" : ""
      lines.append(
        "<line x1=\"\(from.x + Self.boxWidth / 2)\" y1=\"\(from.y + Self.boxHeight)\" "
          + "x2=\"\(to.x + Self.boxWidth / 2)\" y2=\"\(to.y)\" stroke=\"#555\"\(dash) "
          + "marker-end=\"url(#end)\"/>")
    }
    for (place, node) in nodes.enumerated() { lines += Self.box(node, places[place]) }
    return lines + ["</svg>"]
  }

  private static func box(_ node: Node, _ place: (x: Int, y: Int)) -> [String] {
    let frame = "x=\"\(place.x)\" y=\"\(place.y)\" width=\"\(boxWidth)\" height=\"\(boxHeight)\""
    let text = { (words: String, y: Int, size: Int) in
      "<text x=\"\(place.x + boxWidth / 2)\" y=\"\(place.y + y)\" font-size=\"\(size)\" "
        + "text-anchor=\"middle\">\(escaped(String(words.prefix(26))))</text>"
    }
    let stroke = node.isMany ? "3" : "1"
    return [
      "<rect \(frame) rx=\"6\" fill=\"#f7f7f4\" stroke=\"#333\" stroke-width=\"\(stroke)\"/>",
      text(node.id + (node.isMany ? " ×n" : ""), node.note.isEmpty ? 27 : 20, 13),
    ] + (node.note.isEmpty ? [] : [text(node.note, 36, 10)])
  }

  private static func escaped(_ text: String) -> String {
    Markup.escape(Visible.line(text), quotes: ["\""])
  }
}
