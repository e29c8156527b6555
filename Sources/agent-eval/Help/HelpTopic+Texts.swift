extension HelpTopic {
  /// Every topic, in the order of the list.
  static let all = [
    cases, exitCodes, logs, approvals, importing, configuration, colours, longRuns, shortOptions,
  ]

  private static let cases = HelpTopic(
    name: "cases", otherNames: ["case", "expectations"],
    title: "What a case file holds", document: "Docs/eval-case-format.md",
    text: """
      A case is YAML, JSON or a line of JSONL. It names a run and what must be seen in it:

          caseId: refund-needs-approval
          input: Refund order 1234 at once
          recording: runs/refund.jsonl.gz      # or  agent: agents/support.yaml
          expected:
            stopReason: approval_required
            toolsCalled: [lookup_order]
            toolsNotCalled: [issue_refund, "delete_*"]

      - `agent-eval run FILE` judges it; with `--live` the agent is run first, with `--on FOLDER` every run of a \
      folder is judged.
      - `agent-eval check FILE` says all that is wrong with it, `agent-eval schema case` is its schema for editors.
      - `agent-eval promote LOG` writes one from a recorded run.
      - What a log cannot show is `unverifiable`, never a pass.
      """)

  private static let exitCodes = HelpTopic(
    name: "exit-codes", otherNames: ["exit", "exitcodes", "codes", "status"],
    title: "What the exit code says", document: "Docs/command-line.md",
    text: """
      - 0: fine. Of `run`: every case passed.
      - 1: the thing observed did not do well: a case failed, with `--against` something is worse, a run did not \
      stop with success, a log is damaged, two runs differ.
      - 2: it could not be done: a file cannot be read or has mistakes, a case could not be judged.
      - 3: inconclusive: a case decided nothing, or was not run.
      - 64: wrong usage.
      - 128 and the number of a signal: `run --watch` was ended by it.

      Where several cases differ, 1 outranks 2, and 2 outranks 3. Where standard output could not be written (a full \
      disk; not a reader that has seen enough), standard error says so whatever the code is, which is 2 in place of 0 \
      and 3. `run --files-from` ends as `run` does, by the outcomes of all lines.
      """)

  private static let logs = HelpTopic(
    name: "logs", otherNames: ["log", "latest", "runs"],
    title: "What stands for a log on the command line", document: "Docs/command-line.md",
    text: """
      Wherever a verb takes a log, it takes

      - a path: `runs/x.jsonl.gz`, also while it is written (`….open`). A file of the name goes first.
      - `latest`: the run whose log was written last, by the time of its file. Runs that other runs called are \
      passed over.
      - `last-failed`, or the option `--last-failed` in its place: the log of the first case that failed in the \
      last `agent-eval run` of this folder, or else of the first that was inconclusive. `run --last-failed` judges \
      all that did not pass.
      - the beginning of a run's identifier, of four characters or more. One that several runs begin with is refused, \
      with their names; of copies of one run (scrubbed, repaired) the log named after it is taken.

      They are looked for below `.agent-eval/runs`, or the folder that the setting `out` names. Which log was taken \
      is told on standard error.
      """)

  private static let approvals = HelpTopic(
    name: "approvals", otherNames: ["approval", "people"],
    title: "Calls that wait for a person", document: "Docs/resuming.md",
    text: """
      A call that policy holds back pauses the run, and its log is closed with `approval_required`. Then

      - `agent-eval show LOG` shows what waits.
      - `agent-eval approve LOG CALL --by NAME` lets that one call run; with `--deny` it may not. CALL is its id, or \
      its tool where one call of it waits.
      - `agent-eval answer LOG TEXT` answers a question.
      - `agent-eval resume LOG` goes on. What is recorded is not done again.

      `record --approve ask` asks at the terminal instead.
      """)

  private static let importing = HelpTopic(
    name: "importing", otherNames: ["traces"],
    title: "Judging what other tools recorded", document: "Docs/importing.md",
    text: """
      - `agent-eval import FILES --out FOLDER` turns traces of other tools into run logs; the format is told by what \
      stands in each file, `import --formats` lists them.
      - Eval sets of ADK, promptfoo, BFCL and Inspect become case files.
      - `agent-eval inspect FILES` looks at them without keeping anything, `agent-eval run CASES --on FILES` judges \
      them.
      - What a source does not hold is named as not recorded, never invented: checks on it are unverifiable.
      - `agent-eval record --proxy -- COMMAND` records any agent while it runs.
      """)

  private static let configuration = HelpTopic(
    name: "configuration", otherNames: ["settings"],
    title: "Defaults of a project", document: "Docs/configuration.md",
    text: """
      `.agent-eval.yaml` holds what a project would say on each command line:

          paths: [EvalCases]
          out: runs
          against: accepted
          strict: true
          report: [junit:build/results.xml]

      It is looked for in this folder and upwards to the one with `.git`; outside of a repository in this folder \
      alone. Paths in it start from its own folder. Unknown keys are refused. A variable of the environment \
      (`AGENT_EVAL_OUT`, lists a line each) outranks the file, an option outranks both; `none` takes back `runs`, \
      `report`, `against` and `history`, `--no-strict` takes back `strict`.

      `agent-eval config` shows what holds and where it stands. What decides over the outcome (`paths`, `runs`, \
      `against`, `tolerance`, `strict`) is told by `run` on standard error, with its place. Nothing that starts \
      programs or asks models, leaves out cases or checks, or lets less count as a pass by itself can stand in the \
      file: `live`, `exec`, `judge`, `filter` and the number of trials are for command lines and cases.
      """)

  private static let colours = HelpTopic(
    name: "colours", otherNames: ["colors", "color", "colour", "terminal", "pager"],
    title: "Colours, long lines and the pager", document: "Docs/configuration.md",
    text: """
      - `--color auto|always|never` says it; then `AGENT_EVAL_COLOR`, then `NO_COLOR`, `FORCE_COLOR` and \
      `CLICOLOR_FORCE`, then `color` in `.agent-eval.yaml`. With `auto` there are colours on a terminal, unless \
      `TERM` is `dumb`.
      - On a terminal events and texts are cut at its width; paths, messages and commands to copy stand \
      whole. In files and pipes they are whole; `--full` does that on a terminal too, and breaks lines where \
      texts do.
      - On a terminal, what is longer than the screen goes through the program that `PAGER` names; `--no-pager` or \
      `AGENT_EVAL_PAGER=none` prints it at once. Never in pipes.
      """)

  private static let longRuns = HelpTopic(
    name: "long-runs", otherNames: ["progress", "continue"],
    title: "Suites that take long", document: "Docs/command-line.md",
    text: """
      - On a terminal one line says how many cases of how many are done, how many failed, the rate and the time left; \
      what did not pass is told at once. In pipes a line on standard error says the same every 30 seconds.
      - A suite that was interrupted ends with what was judged; what never started is “not run”, which is no pass.
      - `run --live --continue` takes it up: runs that were finished are not made again where agent, input and \
      conditions are still the same and the log is whole and unaltered; each is judged anew by the cases of today.
      """)

  private static let shortOptions = HelpTopic(
    name: "short-options", otherNames: ["short", "options", "flags"],
    title: "Options of one letter", document: "Docs/command-line.md",
    text: """
      - `run`: -f `--filter`, -j `--jobs`, -l `--live`, -n `--trials`, -a `--against`, -r `--report`, -o `--out`, \
      -w `--watch`, -d `--debug`
      - `show`: -f `--follow`, -t `--tree`
      - `replay`: -s `--step`, -e `--event`, -c commands, -x `--reexecute`
      - `record`, `fork`: -o `--out`
      - `approve`, `answer`: -b `--by`
      - `diff`: -i `--ignore`
      - `list`: -s `--since`, -t `--tool`
      - `history`: -n `--last`
      - `import`: -o `--out`; `export`: -o `--output`; `inspect`: -w `--write`
      - `accept`, `mutate`, `merge`: as `run`
      """)
}
