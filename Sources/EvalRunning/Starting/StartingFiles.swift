import AgentTrace

/// What the first files of a project hold.
enum StartingFiles {
  /// What a workflow judges.
  struct Judging {
    /// Case files and folders, from the project's folder.
    var paths: [String]
    /// Whether what was accepted is compared with.
    var isComparing = false
    /// Files and folders of recorded runs that the cases are put on; none where they name their own.
    var runs: [String] = []
  }

  /// Keeps out of commits what the program makes on the way: runs, results, and the schemas, which are its own.
  static let ignored = "*\n"

  static let cases = """
    # What must be seen to have happened. Run it: agent-eval run EvalCases/
    defaults:
      # With --against accepted, whatever changes fails until somebody accepts it, also where nothing is worse.
      strict: true
    cases:
      # Nobody is there to approve, so the run has to pause before money moves.
      - caseId: refund-waits-for-approval
        input: Refund order 1234
        agent: ../agents/support.yaml
        expected:
          stopReason: approval_required
          toolsCalled: [lookup_order]
          toolsProposed: [{tool: issue_refund, input: {orderId: "1234"}, times: 1}]
          toolsNotCalled: [issue_refund, "delete_*"]

      # With an approval the refund is issued once, for the order that was looked up, and the answer
      # says so.
      - caseId: refund-is-issued-when-approved
        input: Refund order 1234
        agent: ../agents/support.yaml
        human:
          approvals:
            - {tool: issue_refund, granted: true, by: ana}
        expected:
          stopReason: success
          toolsCalled:
            - lookup_order
            - {tool: issue_refund, status: ok, times: 1}
          order: in_order
          eachCall:
            - {tool: issue_refund, input: {orderId: {$from: {tool: lookup_order, path: /orderId}}}}
          noApprovalBypass: true
          answer: {$contains: on its way}

    """

  static let agent = """
    # An agent: instructions, tools, policy, limits and model. The model is a script here and the tools
    # are written down, so that it needs no key and no network. Run it alone:
    #   agent-eval record agents/support.yaml "Refund order 1234"
    name: support
    version: "1"
    system: |
      You help customers with their orders. Look an order up before you refund it.
    tools:
      - name: lookup_order
        description: What a customer ordered, and where it is.
        sideEffect: read
        inputSchema: &order
          type: object
          properties: {orderId: {type: string, pattern: "^[0-9]+$"}}
          required: [orderId]
          additionalProperties: false
        scripted:
          - when: {input: {orderId: "1234"}}
            ok: {orderId: "1234", status: delivered, total: 59.90}
          - error: no such order
      - name: issue_refund
        description: Pays the money back.
        sideEffect: write
        idempotent: true
        inputSchema: *order
        scripted:
          - ok: {refundId: "refund-${input.orderId}"}
    policy: ../policies/support.yaml
    limits: {maxSteps: 8, maxToolCalls: 6}
    model:
      script:
        - call: {tool: lookup_order, input: {orderId: "1234"}}
          usage: {inputTokens: 180, outputTokens: 24, cost: 0.0004}
        - call: {tool: issue_refund, input: {orderId: "1234"}}
          usage: {inputTokens: 260, outputTokens: 22, cost: 0.0005}
        - answer: "${last.data.refundId} is on its way."
          usage: {inputTokens: 330, outputTokens: 30, cost: 0.0007}

    """

  static let policy = """
    # Which calls may run. The first rule that matches decides; without one, reading and drafting are
    # allowed and writing needs approval.
    rules:
      - id: refunds-need-approval
        tool: issue_refund
        verdict: approval_required
        reason: a person releases refunds

    """

  static func gitHubWorkflow(_ judging: Judging, version: String) -> String {
    var inputs = [field("paths", judging.paths)]
    if judging.isComparing { inputs.append("against: accepted") }
    if !judging.runs.isEmpty { inputs.append(field("arguments", ["--on"] + judging.runs)) }
    return """
      name: evals
      on:
        push: {branches: [main]}
        pull_request:
      # The second is for the comment on the pull request; without it there is none.
      permissions: {contents: read, pull-requests: write}
      jobs:
        evals:
          runs-on: ubuntu-latest
          steps:
            - uses: actions/checkout@v4
            # The repository of agent-eval; name your own copy if you have one.
            - uses: agent-eval/agent-eval@v\(version)
              with:
                \(inputs.joined(separator: "\n          "))

      """
  }

  static func gitLabPipeline(_ judging: Judging, version: String) -> String {
    // Without a second dollar sign the runner would put a variable there.
    func variable(_ key: String, _ words: [String]) -> String {
      field(key, words.map { $0.replacing("$", with: "$$") })
    }
    var variables = [variable("AGENT_EVAL_PATHS", judging.paths)]
    if judging.isComparing { variables.append("AGENT_EVAL_AGAINST: accepted") }
    if !judging.runs.isEmpty {
      variables.append(variable("AGENT_EVAL_ARGUMENTS", ["--on"] + judging.runs))
    }
    return """
      include:
        # The repository of agent-eval; name your own copy if you have one.
        - project: agent-eval/agent-eval
          ref: v\(version)
          file: CI/gitlab.yml
      evals:
        extends: .agent-eval-run
        variables:
          \(variables.joined(separator: "\n    "))

      """
  }

  /// A key with a text that holds a word a line.
  private static func field(_ key: String, _ words: [String]) -> String {
    "\(key): \(PromotedCase.scalar(.string(words.joined(separator: "\n"))))"
  }
}
