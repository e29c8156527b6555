import AgentRuntime
import CPrograms
import FilePaths
import Glibc

/// A program under way, and this process's ends of what leads to it. Only the thread of ``ProgramHub``
/// touches it.
final class RunningProgram {
  let number: Int
  let order: ProgramOrder
  let events: ProgramEvents
  let watcher: pid_t
  /// The socket to the watcher.
  private(set) var control: Int32 = -1
  private(set) var output: Int32 = -1
  private(set) var errors: Int32 = -1
  private(set) var input: Int32 = -1
  /// What it has yet to be given.
  var unwritten: [UInt8] = []
  /// Whether nothing more will be written to it.
  var isClosing = false
  /// 0 until it runs.
  var process: pid_t = 0
  /// Why it is being ended.
  var cause: ProgramCause?
  var home: SandboxHome?

  var hasStarted: Bool { process != 0 }
  var hasToWrite: Bool { !unwritten.isEmpty || isClosing }

  /// Makes the pipes and the watcher.
  ///
  /// - Throws: ``ProgramFault``, where the system has none left.
  init(
    _ order: ProgramOrder, _ number: Int, _ events: ProgramEvents
  ) throws(ProgramFault) {
    self.order = order
    self.number = number
    self.events = events
    var ends = Ends()
    defer { ends.closeTheirs() }
    do throws(ProgramFault) {
      try ends.open(order.input)
      let (control, watcher) = try Self.watch(order, ends.theirs)
      self.control = control
      self.watcher = watcher
    } catch {
      ends.closeOurs()
      throw error
    }
    (input, output, errors) = ends.ours
  }

  /// Descriptors on both sides of a start.
  private struct Ends {
    var ours: (Int32, Int32, Int32) = (-1, -1, -1)
    var theirs: (Int32, Int32, Int32) = (-1, -1, -1)
    var areShared = false

    mutating func open(_ input: ProgramOrder.Input) throws(ProgramFault) {
      switch input {
      case .inherited:
        theirs = (0, 1, 2)
        areShared = true
        return
      case .bytes(let bytes):
        let file = bytes.withUnsafeBytes { program_input($0.baseAddress, $0.count) }
        theirs.0 = try Self.checked(file)
      case .written: (theirs.0, ours.0) = try Self.pipe(keepsReading: false)
      }
      (ours.1, theirs.1) = try Self.pipe(keepsReading: true)
      (ours.2, theirs.2) = try Self.pipe(keepsReading: true)
    }

    private static func pipe(keepsReading: Bool) throws(ProgramFault) -> (Int32, Int32) {
      var ends: [Int32] = [-1, -1]
      _ = try checked(program_pipe(&ends, keepsReading ? 1 : 0))
      return (ends[0], ends[1])
    }

    private static func checked(_ number: Int32) throws(ProgramFault) -> Int32 {
      if number < 0 { throw RunningProgram.fault(0 - number) }
      return number
    }

    func closeTheirs() {
      if areShared { return }
      for end in [theirs.0, theirs.1, theirs.2] where end >= 0 { Glibc.close(end) }
    }

    func closeOurs() {
      for end in [ours.0, ours.1, ours.2] where end >= 0 { Glibc.close(end) }
    }
  }

  private static func fault(_ number: Int32) -> ProgramFault {
    number == EMFILE ? ProgramLoop.fault(needing: 1) : .system(number)
  }

  static func watch(
    _ order: ProgramOrder, _ streams: (Int32, Int32, Int32)
  ) throws(ProgramFault) -> (control: Int32, watcher: pid_t) {
    let paths = CTexts(order.paths)
    let arguments = CTexts(order.arguments)
    let environment = CTexts(
      order.environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
    let folder = CTexts([order.folder ?? ""])
    var limits = order.limits.system
    if let count = order.maxProcessesOfUser {
      limits.append(
        program_limit(resource: Int32(__RLIMIT_NPROC.rawValue), value: UInt64(max(0, count))))
    }
    var watcher: Int32 = 0
    let network = order.network.map { [$0.start] } ?? []
    let control = limits.withUnsafeBufferPointer { limits in
      SandboxArguments.with(order.sandbox) { sandbox in
        var start = program_start()
        start.paths = UnsafePointer(paths.start)
        start.arguments = UnsafePointer(arguments.start)
        start.environment = UnsafePointer(environment.start)
        start.folder = order.folder == nil ? nil : folder.start[0]
        start.streams = streams
        start.has_session = order.hasSession ? 1 : 0
        start.limits = limits.baseAddress
        start.limit_count = Int32(limits.count)
        start.sandbox = sandbox
        return network.withUnsafeBufferPointer { network in
          start.network = network.isEmpty ? nil : network.baseAddress
          return program_watch(&start, &watcher)
        }
      }
    }
    withExtendedLifetime((paths, arguments, environment, folder, order)) {}
    guard control >= 0 else { throw fault(0 - control) }
    return (control, watcher)
  }

  // MARK: Ends

  /// Writes as much as the program takes now.
  func writeOn() {
    while !unwritten.isEmpty {
      let count = unwritten.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      // A program need not read its input: a closed pipe is no failure.
      guard count > 0 else { return closeInput() }
      unwritten.removeFirst(count)
    }
    if isClosing { closeInput() }
  }

  private func closeInput() {
    Self.release(&input)
    unwritten = []
  }

  func closeOutput() { Self.release(&output) }

  func closeErrors() { Self.release(&errors) }

  func closeAll() {
    for end in [\RunningProgram.control, \.output, \.errors, \.input] {
      Self.release(&self[keyPath: end])
    }
  }

  private static func release(_ descriptor: inout Int32) {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }
}

/// Texts as C takes them: an array of pointers that ends with none.
final class CTexts {
  let start: UnsafeMutablePointer<UnsafePointer<CChar>?>
  private let count: Int

  init(_ texts: [String]) {
    count = texts.count
    start = .allocate(capacity: texts.count + 1)
    for (index, text) in texts.enumerated() {
      (start + index).initialize(to: UnsafePointer(text.withPath { strdup($0) }))
    }
    (start + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(UnsafeMutablePointer(mutating: start[index])) }
    start.deallocate()
  }
}

extension ProcessLimits {
  /// As setrlimit(2) takes them.
  var system: [program_limit] {
    [
      (memoryBytes, RLIMIT_AS), (cpuSeconds, RLIMIT_CPU), (openFiles, RLIMIT_NOFILE),
      (fileBytes, RLIMIT_FSIZE),
    ].compactMap { value, resource in
      value.map {
        program_limit(resource: Int32(resource.rawValue), value: UInt64(max(0, $0)))
      }
    }
  }
}
