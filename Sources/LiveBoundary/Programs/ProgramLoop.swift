import CPrograms
import Glibc

/// What the thread of ``ProgramHub`` holds. Nobody else touches it.
final class ProgramLoop {
  /// How long a program has between SIGTERM and SIGKILL.
  private static let grace = CommandProcess.grace
  /// How long the end of a program that got SIGKILL is waited for: what waits for a device does not end.
  private static let patience = Duration.seconds(5)
  /// How long descriptors are waited for that none of our programs will give back.
  private static let descriptorPatience = Duration.seconds(2)
  /// Descriptors that are left to the rest of this process.
  private static let spareDescriptors = 8
  private static let bufferBytes = 1 << 16

  private struct Waiting {
    var order: ProgramOrder
    var number: Int
    var events: ProgramEvents
    var deadline: ContinuousClock.Instant?
  }

  private struct Timer {
    var time: ContinuousClock.Instant
    var number: Int
    var action: (ProgramLoop, RunningProgram) -> Void
  }

  /// Which descriptor of a program something has come on.
  private enum Source { case bell, control, output, errors, input }

  private let bell: Int32
  private var waiting: [Waiting] = []
  /// Since when there were too few descriptors, with none of our programs about to end.
  private var tooFewSince: ContinuousClock.Instant?
  private var programs: [Int: RunningProgram] = [:]
  private var timers: [Timer] = []
  /// Watchers that are about to be gone, and were not waited for.
  private var watchers: [pid_t] = []
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferBytes, alignment: 16)

  init(bell: Int32) { self.bell = bell }

  deinit { buffer.deallocate() }

  // MARK: What others ask for

  func accept(
    _ order: ProgramOrder, _ number: Int, _ events: ProgramEvents,
    until deadline: ContinuousClock.Instant?
  ) {
    waiting.append(Waiting(order: order, number: number, events: events, deadline: deadline))
  }

  func end(_ number: Int, _ cause: ProgramCause) {
    if let index = waiting.firstIndex(where: { $0.number == number }) {
      waiting.remove(at: index).events.ended(.failure(.ended(cause)))
    } else if let program = programs[number] {
      end(program, cause)
    }
  }

  func signal(_ number: Int, _ signal: Int32) {
    if let program = programs[number] { tell(program, UInt8(truncatingIfNeeded: signal)) }
  }

  func write(_ number: Int, _ bytes: [UInt8]) {
    guard let program = programs[number], program.input >= 0 else { return }
    program.unwritten += bytes
  }

  func close(_ number: Int, grace: Duration, signalGrace: Duration) {
    if waiting.contains(where: { $0.number == number }) {
      return end(number, .cancelled(signal: "a signal"))
    }
    guard let program = programs[number], !program.isClosing else { return }
    program.isClosing = true
    after(grace, number) { loop, program in
      loop.tell(program, UInt8(SIGTERM))
      loop.after(signalGrace, number) { $0.kill($1) }
    }
  }

  // MARK: Ends

  private func end(_ program: RunningProgram, _ cause: ProgramCause) {
    guard program.cause == nil else { return }
    program.cause = cause
    // What multiplies gets no time to go on.
    if cause == .processLimit { return kill(program) }
    // Also what it began in a session of its own ends with it.
    tell(program, UInt8(PROGRAM_END_ALL))
    tell(program, UInt8(SIGTERM))
    after(Self.grace, program.number) { $0.kill($1) }
  }

  private func kill(_ program: RunningProgram) {
    tell(program, UInt8(PROGRAM_KILL_ALL))
    after(Self.patience, program.number) { loop, program in
      loop.finish(program, .success(.killed(SIGKILL)))
    }
  }

  private func tell(_ program: RunningProgram, _ word: UInt8) {
    _ = program_tell(program.control, word)
  }

  private func after(
    _ duration: Duration, _ number: Int,
    _ action: @escaping (ProgramLoop, RunningProgram) -> Void
  ) {
    timers.append(Timer(time: .now + duration, number: number, action: action))
  }

  private func finish(_ program: RunningProgram, _ end: Result<ProgramEnd, ProgramFault>) {
    guard programs.removeValue(forKey: program.number) != nil else { return }
    timers.removeAll { $0.number == program.number }
    // All of its own words are in the pipes by now; what relatives go on writing is not.
    drain(program.output) { _ = program.events.output($0) }
    drain(program.errors) { program.events.errors($0) }
    program.closeAll()
    watchers.append(program.watcher)
    program.events.ended(
      end.map { ProgramResult(end: $0, cause: program.cause, home: program.home) })
  }

  private func drain(_ descriptor: Int32, _ take: (UnsafeRawBufferPointer) -> Void) {
    var left: Int32 = 0
    guard descriptor >= 0, ioctl(descriptor, UInt(FIONREAD), &left) == 0 else { return }
    while left > 0 {
      let count = read(descriptor, buffer.baseAddress, min(Int(left), buffer.count))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      left -= Int32(count)
    }
  }

  // MARK: Turns

  /// Does what was asked for, waits until something happens, and does what follows from it.
  func turn(_ jobs: [ProgramHub.Job]) {
    for job in jobs { job(self) }
    startWaiting()
    var sources: [(Source, Int)] = [(.bell, 0)]
    var descriptors = [pollfd(fd: bell, events: Int16(POLLIN), revents: 0)]
    func listen(_ descriptor: Int32, _ source: Source, _ number: Int, _ events: Int32 = POLLIN) {
      guard descriptor >= 0 else { return }
      sources.append((source, number))
      descriptors.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
    }
    for (number, program) in programs {
      listen(program.control, .control, number)
      listen(program.output, .output, number)
      listen(program.errors, .errors, number)
      if program.hasToWrite { listen(program.input, .input, number, POLLOUT) }
    }
    let count = poll(&descriptors, nfds_t(descriptors.count), pollMilliseconds)
    if count > 0 {
      for (index, (source, number)) in sources.enumerated() where descriptors[index].revents != 0 {
        take(source, number)
      }
    }
    countProcesses()
    runTimers()
    reapWatchers()
  }

  private var pollMilliseconds: Int32 {
    var times = timers.map(\.time) + waiting.compactMap(\.deadline)
    let now = ContinuousClock.now
    if !waiting.isEmpty { times.append(now + .milliseconds(50)) }
    if !watchers.isEmpty { times.append(now + .milliseconds(5)) }
    if programs.values.contains(where: { $0.order.maxProcesses != nil }) {
      times.append(now + .milliseconds(20))
    }
    guard let next = times.min() else { return -1 }
    return Int32(clamping: max(0, (next - now).wholeMicroseconds / 1_000 + 1))
  }

  private func take(_ source: Source, _ number: Int) {
    if source == .bell {
      var count: UInt64 = 0
      _ = read(bell, &count, 8)
      return
    }
    guard let program = programs[number] else { return }
    switch source {
    case .bell: break
    case .control: hear(program)
    case .input: program.writeOn()
    case .output:
      let isOpen = readOnce(program.output) { bytes in
        if let cause = program.events.output(bytes) { end(program, cause) }
      }
      if !isOpen {
        program.closeOutput()
        program.events.outputEnded()
      }
    case .errors:
      if !readOnce(program.errors, { program.events.errors($0) }) { program.closeErrors() }
    }
  }

  /// Whether more may come.
  private func readOnce(_ descriptor: Int32, _ take: (UnsafeRawBufferPointer) -> Void) -> Bool {
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    if count < 0 { return errno == EINTR || errno == EAGAIN }
    if count > 0 { take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
    return count > 0
  }

  private func hear(_ program: RunningProgram) {
    while programs[program.number] != nil {
      var word = program_word()
      var descriptor: Int32 = -1
      let status = program_hear(program.control, &word, &descriptor)
      if descriptor >= 0 { program.home = SandboxHome(descriptor: descriptor) }
      if status < 0 { return }
      switch (status, Int(word.kind)) {
      case (0, _):
        // The watcher was killed, and the program with it; a watcher that could start nothing says so. What
        // is left in the program's session is ended from here, as far as its number is known.
        if program.hasStarted { ProcessTable.killSession(program.process) }
        finish(program, .success(.killed(SIGKILL)))
      case (_, Int(PROGRAM_STARTED)):
        program.process = word.value
        program.events.started(word.value)
      case (_, Int(PROGRAM_FAILED)):
        finish(program, .failure(.stage(Int(word.value), word.detail)))
      case (_, Int(PROGRAM_ENDED)):
        // What came too late did not end it.
        if word.detail == 0 { program.cause = nil }
        finish(program, .success(ProgramEnd(status: word.value)))
      default: break
      }
    }
  }

  private func countProcesses() {
    let counted = programs.values.filter { $0.order.maxProcesses != nil && $0.hasStarted }
    guard !counted.isEmpty else { return }
    let table = ProcessTable()
    for program in counted
    where table.family(of: program.process).count > program.order.maxProcesses ?? .max {
      end(program, .processLimit)
    }
  }

  private func runTimers() {
    let now = ContinuousClock.now
    let due = timers.filter { $0.time <= now }
    timers.removeAll { $0.time <= now }
    for timer in due {
      if let program = programs[timer.number] { timer.action(self, program) }
    }
    for late in waiting where late.deadline.map({ $0 <= now }) ?? false {
      end(late.number, .timeLimit)
    }
  }

  private func reapWatchers() {
    watchers.removeAll { waitpid($0, nil, WNOHANG) != 0 }
  }

  // MARK: Starts

  /// Starts what waits, in order, as far as there are descriptors.
  private func startWaiting() {
    defer { if waiting.isEmpty { tooFewSince = nil } }
    while let next = waiting.first {
      let fault: ProgramFault
      if let tooFew = Self.lack(for: next.order) {
        fault = tooFew
      } else {
        do throws(ProgramFault) {
          let program = try RunningProgram(next.order, next.number, next.events)
          programs[next.number] = program
          if let deadline = next.deadline {
            timers.append(
              Timer(time: deadline, number: next.number) { $0.end($1, .timeLimit) })
          }
          waiting.removeFirst()
          tooFewSince = nil
          continue
        } catch { fault = error }
      }
      guard !maySoonBeStarted(behind: fault) else { return }
      // Those behind it, which lack the same, have waited as long.
      waiting.removeFirst().events.ended(.failure(fault))
    }
  }

  /// Whether something is to be given back that a start lacked.
  private func maySoonBeStarted(behind fault: ProgramFault) -> Bool {
    switch fault {
    case .descriptors, .system(EAGAIN), .system(ENOMEM), .system(ENFILE): break
    default: return false
    }
    if programs.values.contains(where: { !$0.order.isLasting }) {
      tooFewSince = nil
      return true
    }
    let since = tooFewSince ?? .now
    tooFewSince = since
    return .now - since < Self.descriptorPatience
  }

  private static func lack(for order: ProgramOrder) -> ProgramFault? {
    let needed = order.descriptors + spareDescriptors
    let fault = fault(needing: needed)
    guard case .descriptors(_, let open, let limit) = fault else { return nil }
    return open + needed > limit ? fault : nil
  }

  /// - Returns: how many descriptors are needed beside those that are open, and how many there may be.
  static func fault(needing needed: Int) -> ProgramFault {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return .descriptors(
      needed: needed, open: Int(max(0, program_open_descriptors())),
      limit: Int(clamping: limit.rlim_cur))
  }
}
