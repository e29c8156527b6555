// swift-tools-version: 6.2
// The targets stand in the order data flows; each may import only what is listed here.
// TidyTests compares every import in Sources with the table in Docs/architecture.md.

import PackageDescription

/// Optimised also where the rest is built for debugging, as `bin/test` asks for: tests spend most of their time
/// in these. Nobody can depend on a package with flags of this kind, so that they are never there unasked.
let isOptimized = Context.environment["AGENT_EVAL_OPTIMIZED"] == "1"
let optimized: [SwiftSetting] =
  isOptimized
  ? [
    .unsafeFlags(
      ["-O", "-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug))
  ] : []

/// Where `bin/agent-eval` builds, those targets are optimised alone in which most commands spend their time: a first
/// build then ends in less than four minutes. Docs/decisions/0013-two-builds.md.
let isOnlyHotOptimized = Context.environment["AGENT_EVAL_OPTIMIZED"] == "hot"
let cold: [SwiftSetting] =
  isOnlyHotOptimized ? [.unsafeFlags(["-Onone"], .when(configuration: .release))] : []

let optimizedC: [CSetting] =
  isOptimized ? [.unsafeFlags(["-O2"], .when(configuration: .debug))] : []

/// What every target is compiled with.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]

/// Libraries also keep their imports to themselves unless they say `public import`.
let library: [SwiftSetting] =
  strict + [.enableUpcomingFeature("InternalImportsByDefault")] + optimized

/// C of other people that asks for what its own configure would have found out.
let configured: [CSetting] = [.define("HAVE_CONFIG_H")] + optimizedC

/// C that makes calls of Linux which stand behind this word in its headers.
let systemCalls: [CSetting] = [.define("_GNU_SOURCE")]

let argumentParser: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")
let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")

/// The HTTP stack: resolved, built and linked with the trait `Live` only.
let asyncHTTPClient: Target.Dependency = .product(
  name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Live"]))

/// A product of SwiftNIO, likewise.
func nio(_ name: String) -> Target.Dependency {
  .product(name: name, package: "swift-nio", condition: .when(traits: ["Live"]))
}

let nioSSL: Target.Dependency = .product(
  name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Live"]))

let httpCompression: Target.Dependency = .product(
  name: "NIOHTTPCompression", package: "swift-nio-extras", condition: .when(traits: ["Live"]))

let package = Package(
  name: "agent-eval",
  products: [
    .library(name: "AgentTrace", targets: ["AgentTrace"]),
    .library(name: "AgentRuntime", targets: ["AgentRuntime"]),
    .library(name: "TraceStorage", targets: ["TraceStorage"]),
    .library(name: "TraceReplaying", targets: ["TraceReplaying"]),
    .library(name: "LiveBoundary", targets: ["LiveBoundary"]),
    .library(name: "AgentPipelines", targets: ["AgentPipelines"]),
    .library(name: "AgentTesting", targets: ["AgentTesting", "AgentRuntime", "AgentTrace"]),
    // For Fuzzing/, a package of its own.
    .library(name: "TraceMatching", targets: ["TraceMatching"]),
    .library(name: "TraceJudging", targets: ["TraceJudging"]),
    .library(name: "EvalLoading", targets: ["EvalLoading"]),
    .library(name: "TraceImporting", targets: ["TraceImporting"]),
    .executable(name: "agent-eval", targets: ["agent-eval"]),
  ],
  traits: [
    .default(enabledTraits: []),
    .trait(
      name: "Live",
      description: "Models, tools and MCP servers over HTTP, and the recording proxy."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    .package(
      url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
  ],
  targets: [
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "CPrograms", cSettings: systemCalls),
    // In place of what only newer C libraries have, and before anything of Swift; linked in by being there.
    .target(name: "CGlibcShim", cSettings: systemCalls),
    .target(name: "CYaml", exclude: ["LICENSE"], cSettings: configured),
    .target(name: "CSHA256", cSettings: optimizedC),
    .target(name: "FilePaths", swiftSettings: library),
    .target(name: "SQLite", dependencies: ["CSQLite", "FilePaths"], swiftSettings: library + cold),
    .target(name: "AgentTrace", dependencies: ["CSHA256"], swiftSettings: library),
    .target(name: "TraceMatching", dependencies: ["AgentTrace"], swiftSettings: library),
    .target(
      name: "TraceStorage", dependencies: ["AgentTrace", "CZlib", "FilePaths"],
      swiftSettings: library),
    .target(
      name: "TraceJudging", dependencies: ["AgentTrace", "TraceMatching"], swiftSettings: library),
    .target(
      name: "AgentRuntime", dependencies: ["AgentTrace", "TraceMatching"], swiftSettings: library),
    .target(
      name: "AgentPipelines", dependencies: ["AgentTrace", "TraceMatching", "AgentRuntime"],
      swiftSettings: library + cold),
    .target(
      name: "AgentTesting", dependencies: ["AgentTrace", "AgentRuntime"],
      swiftSettings: library + cold),
    .target(
      name: "LiveBoundary",
      dependencies: [
        "CPrograms", "CZlib", "CSQLite", "FilePaths", "SQLite", "AgentTrace", "AgentRuntime",
        asyncHTTPClient,
        nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"), nioSSL, httpCompression,
      ],
      swiftSettings: library + cold),
    .target(
      name: "TraceReplaying",
      dependencies: ["AgentTrace", "TraceMatching", "TraceStorage", "AgentRuntime"],
      swiftSettings: library),
    .target(
      name: "EvalLoading",
      dependencies: [
        "CYaml", "FilePaths", "AgentTrace", "TraceMatching", "TraceJudging", "AgentRuntime",
        "AgentPipelines",
      ],
      swiftSettings: library + cold),
    .target(
      name: "EvalRunning",
      dependencies: [
        "FilePaths", "AgentTrace", "TraceMatching", "TraceStorage", "TraceJudging", "AgentRuntime",
        "AgentPipelines", "TraceReplaying", "EvalLoading",
      ],
      swiftSettings: library),
    .target(
      name: "TraceIndexing",
      dependencies: [
        "CSQLite", "FilePaths", "SQLite", "AgentTrace", "TraceStorage", "TraceJudging",
      ],
      swiftSettings: library + cold),
    .target(
      name: "TraceImporting", dependencies: ["FilePaths", "SQLite", "AgentTrace", "TraceStorage"],
      swiftSettings: library + cold),
    .target(
      name: "EvalImporting",
      dependencies: [
        "FilePaths", "AgentTrace", "TraceMatching", "TraceStorage", "TraceJudging", "EvalLoading",
        "TraceImporting",
      ],
      swiftSettings: library + cold),
    .target(
      name: "TraceReceiving",
      dependencies: [
        "CSQLite", "FilePaths", "SQLite", "AgentTrace", "TraceStorage", "TraceImporting",
      ],
      swiftSettings: library + cold),
    .target(
      name: "TraceExporting",
      dependencies: ["FilePaths", "AgentTrace", "TraceStorage", "TraceJudging"],
      swiftSettings: library + cold),
    .target(
      name: "TraceReporting", dependencies: ["AgentTrace", "TraceJudging"],
      swiftSettings: library),
    .target(
      name: "TraceDebugging",
      dependencies: [
        "FilePaths", "AgentTrace", "TraceMatching", "TraceStorage", "TraceJudging",
        "TraceReplaying",
        "TraceReporting",
      ],
      swiftSettings: library + cold),
    .executableTarget(
      name: "agent-eval",
      dependencies: [
        "CGlibcShim", "FilePaths", "AgentTrace", "TraceMatching", "TraceStorage", "TraceJudging",
        "AgentRuntime", "AgentPipelines", "LiveBoundary", "TraceReplaying", "EvalLoading",
        "EvalRunning",
        "TraceIndexing", "TraceImporting", "EvalImporting", "TraceReceiving", "TraceExporting",
        "TraceReporting",
        "TraceDebugging", argumentParser,
      ],
      swiftSettings: strict + optimized + cold,
      // At a fixed address, so that starting costs no relocation of 100 MB; nobody looks up the names
      // of its 20,000 functions; and what unwinds its stack need not be loaded.
      linkerSettings: [
        .unsafeFlags(
          [
            "-Xclang-linker", "-no-pie", "-Xlinker", "--no-export-dynamic", "-Xclang-linker",
            "-static-libgcc",
          ], .when(platforms: [.linux], configuration: .release))
      ]),

    .target(
      name: "TestSupport",
      dependencies: ["AgentTrace", "TraceStorage", "AgentRuntime", subprocess, systemPackage],
      path: "Tests/TestSupport", swiftSettings: strict),
    .testTarget(
      name: "SQLiteTests", dependencies: ["CSQLite", "SQLite", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "AgentTraceTests", dependencies: ["CSHA256", "AgentTrace", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TraceMatchingTests", dependencies: ["AgentTrace", "TraceMatching", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TraceStorageTests",
      dependencies: ["AgentTrace", "TraceStorage", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "TraceJudgingTests",
      dependencies: ["AgentTrace", "TraceMatching", "TraceJudging", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "AgentRuntimeTests",
      dependencies: ["AgentTrace", "TraceMatching", "AgentRuntime", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "AgentPipelinesTests",
      dependencies: [
        "AgentTrace", "TraceStorage", "AgentRuntime", "AgentPipelines", "AgentTesting",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "AgentTestingTests",
      dependencies: ["AgentTrace", "AgentRuntime", "AgentTesting", "TraceJudging"],
      swiftSettings: strict),
    .testTarget(
      name: "LiveBoundaryTests",
      dependencies: [
        "AgentTrace", "TraceMatching", "TraceStorage", "TraceJudging", "AgentRuntime",
        "LiveBoundary", "TraceReplaying", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TraceReplayingTests",
      dependencies: [
        "AgentTrace", "TraceStorage", "AgentRuntime", "TraceReplaying", "EvalLoading",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "EvalLoadingTests",
      dependencies: [
        "AgentTrace", "TraceMatching", "TraceJudging", "AgentRuntime", "EvalLoading",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "EvalRunningTests",
      dependencies: [
        "AgentPipelines", "AgentTrace", "TraceMatching", "TraceStorage", "TraceJudging",
        "AgentRuntime",
        "EvalLoading", "EvalRunning", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TraceIndexingTests",
      dependencies: [
        "AgentTrace", "TraceStorage", "TraceJudging", "AgentRuntime", "TraceIndexing",
        "SQLite", "TestSupport", "agent-eval",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TraceImportingTests",
      dependencies: [
        "SQLite", "AgentTrace", "TraceStorage", "TraceJudging", "TraceImporting", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TraceReceivingTests",
      dependencies: [
        "AgentTrace", "TraceStorage", "TraceImporting", "TraceExporting", "TraceReceiving",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TraceExportingTests",
      dependencies: [
        "AgentTrace", "TraceStorage", "TraceJudging", "TraceImporting", "TraceExporting",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TraceReportingTests",
      dependencies: [
        "AgentTrace", "TraceStorage", "TraceJudging", "TraceReporting", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TraceDebuggingTests",
      dependencies: [
        "AgentTrace", "TraceMatching", "TraceStorage", "TraceJudging", "TraceReplaying",
        "TraceReporting", "TraceDebugging", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "FilePaths",
        "AgentTrace", "TraceMatching", "TraceStorage", "AgentRuntime", "LiveBoundary",
        "TraceReplaying", "EvalLoading", "EvalRunning", "TestSupport", subprocess, argumentParser,
        "agent-eval",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TidyTests", dependencies: ["AgentTrace", "TestSupport"], swiftSettings: strict),
  ]
)
