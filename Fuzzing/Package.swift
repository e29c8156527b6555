// swift-tools-version: 6.2
// Feeds agent-eval with inputs that libFuzzer makes. A package of its own, so that nobody who builds
// agent-eval builds this. bin/fuzz builds and runs it; Docs/fuzzing.md says what each target holds
// the product to.

import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// One program, in which libFuzzer has the `main`.
func fuzzer(_ name: String, of products: [String]) -> Target {
  .executableTarget(
    name: name,
    dependencies: ["FuzzSupport"] + products.map { .product(name: $0, package: "agent-eval") },
    swiftSettings: strict)
}

let package = Package(
  name: "Fuzzing",
  dependencies: [.package(name: "agent-eval", path: "..")],
  targets: [
    .target(
      name: "FuzzSupport",
      dependencies: [.product(name: "AgentTrace", package: "agent-eval")], swiftSettings: strict),
    fuzzer("fuzz-json", of: ["AgentTrace"]),
    fuzzer("fuzz-log", of: ["AgentTrace", "TraceStorage"]),
    fuzzer("fuzz-importers", of: ["AgentTrace", "TraceStorage", "TraceImporting"]),
    fuzzer("fuzz-received", of: ["AgentTrace", "TraceStorage", "TraceImporting"]),
    fuzzer(
      "fuzz-files",
      of: ["AgentTrace", "TraceMatching", "TraceJudging", "AgentRuntime", "EvalLoading"]),
    fuzzer("fuzz-matchers", of: ["AgentTrace", "TraceMatching"]),
  ]
)
