import TestSupport
import Testing

@Suite("The program's file")
struct ProgramFileTests {
  @Test("neither loads nor holds ICU, and of Foundation loads the essentials alone")
  func libraries() async throws {
    // What the dynamic linker would look for, and, linked in, the name of ICU's data and of the symbols in
    // Foundation that are not in FoundationEssentials.
    let absent = [
      "libFoundation.so", "libFoundationInternationalization.so", "lib_FoundationICU.so",
      "icudt", "$s10Foundation8NSObject",
    ]
    let found = try await Command(
      program: "/bin/grep",
      arguments: ["-aoF"] + absent.flatMap { ["-e", $0] } + [Binary.path]
    ).run(status: nil)
    #expect(found.status == 1, "\(Set(found.lines).sorted())")
    // The search sees what is there.
    let seen = try await Command(
      program: "/bin/grep", arguments: ["-acF", "-e", "FoundationEssentials", Binary.path]
    ).run()
    #expect(seen.output != "0\n")
  }
}
