// swift-tools-version: 6.2
// Measures agent-eval against floors on the same bytes. A package of its own, so that nobody who
// builds agent-eval builds this. Docs/benchmarks.md says how to run it and what it prints.

import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "agent-eval", path: "..")],
  targets: [
    // The floors: zlib and nothing else.
    .target(name: "CFloor", linkerSettings: [.linkedLibrary("z")]),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CFloor",
        .product(name: "AgentTrace", package: "agent-eval"),
        .product(name: "TraceStorage", package: "agent-eval"),
        .product(name: "TraceMatching", package: "agent-eval"),
        .product(name: "AgentRuntime", package: "agent-eval"),
        .product(name: "AgentPipelines", package: "agent-eval"),
        .product(name: "TraceImporting", package: "agent-eval"),
      ],
      swiftSettings: [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
      ]),
  ]
)
