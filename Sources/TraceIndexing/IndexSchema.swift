/// The tables of an index. Docs/finding-runs.md shows them as they stand here.
enum IndexSchema {
  /// What marks a database as an index of ours: `AEIX` in the header of the file
  /// (https://sqlite.org/fileformat.html, offset 68).
  static let applicationID = 0x4145_4958
  /// Raised with every change of a table; an index of another version is built anew.
  static let version = 9

  /// The statements that create the tables, in this order.
  static let statements = [
    """
    CREATE TABLE runs (
      path TEXT PRIMARY KEY NOT NULL,  -- of the log, relative to the folder
      runId TEXT,
      caseId TEXT,
      trial INTEGER,
      agent TEXT,
      agentVersion TEXT,
      model TEXT,
      models TEXT,                     -- JSON: settings of the models by purpose; null: not known
      actorId TEXT,                    -- for whom it acted
      tenantId TEXT,
      route TEXT,
      parentRunId TEXT,                -- the run that it came from
      parentRelation TEXT,             -- subagent, task, fork or judge
      depth INTEGER NOT NULL,          -- how deep it is a part of others; 0: of none
      origin TEXT NOT NULL,            -- 'recorded', or the format it was imported from
      goal TEXT,                       -- its first 512 bytes
      stopReason TEXT,                 -- null while the run has not stopped
      stopDetail TEXT,
      final INTEGER,                   -- 1 where the run may not go on in this log
      answer TEXT,                     -- its first 512 bytes
      steps INTEGER NOT NULL,
      toolCalls INTEGER NOT NULL,
      modelCalls INTEGER NOT NULL,
      inputTokens INTEGER NOT NULL,
      outputTokens INTEGER NOT NULL,
      cost REAL,                       -- null where it is not known
      allowed INTEGER NOT NULL,        -- calls by the policy gate's verdict
      denied INTEGER NOT NULL,
      approvalRequired INTEGER NOT NULL,
      unlistedCalls INTEGER NOT NULL,  -- calls beyond 250,000, which have no row in calls
      startedAt TEXT,                  -- UTC, YYYY-MM-DDTHH:MM:SS.ffffffZ
      elapsedMicroseconds INTEGER NOT NULL,
      events INTEGER NOT NULL,
      sealDigest TEXT,                 -- of the last seal of a closed log
      status TEXT NOT NULL,            -- closed, unfinished, torn, damaged or unreadable
      error TEXT,                      -- what is wrong with a damaged or unreadable log
      readFrom TEXT NOT NULL,          -- summary, body or nothing
      fileSize INTEGER NOT NULL,       -- bytes
      modifiedAt INTEGER NOT NULL,     -- nanoseconds since 1970
      fingerprint TEXT NOT NULL        -- changes with the file; nothing else is promised of it
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE calls (
      path TEXT NOT NULL,              -- of the run
      n INTEGER NOT NULL,              -- from 0, in the order of the decisions
      callId TEXT NOT NULL,
      caller TEXT NOT NULL,            -- agent, a sub-agent's or task's name, or a simulated user's
      ofUser INTEGER NOT NULL,         -- 1 where a simulated user made it, who is none of the agents
      tool TEXT NOT NULL,
      status TEXT,                     -- ok, error, refused, unknown, returned; null: neither
      verdict TEXT,                    -- allow, deny, approval_required; null: none
      seq INTEGER NOT NULL,            -- the event that proposed it
      resultSeq INTEGER,               -- the event with its result
      PRIMARY KEY (path, n)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE tags (
      path TEXT NOT NULL,              -- of the run
      tag TEXT NOT NULL,
      PRIMARY KEY (path, tag)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE suiteRuns (
      path TEXT PRIMARY KEY NOT NULL,  -- of the file in the history, relative to the folder
      startedAt TEXT,                  -- UTC, YYYY-MM-DDTHH:MM:SS.ffffffZ
      elapsedMicroseconds INTEGER NOT NULL,
      commitId TEXT,                   -- null where nobody knows
      branch TEXT,
      program TEXT,                    -- the version of the program that judged
      pass INTEGER NOT NULL,           -- cases by outcome
      fail INTEGER NOT NULL,
      inconclusive INTEGER NOT NULL,
      error INTEGER NOT NULL,
      skipped INTEGER NOT NULL,        -- cases that were left out
      fault TEXT,                      -- why the file could not be read
      fileSize INTEGER NOT NULL,       -- bytes
      modifiedAt INTEGER NOT NULL,     -- nanoseconds since 1970
      fingerprint TEXT NOT NULL        -- changes with the file; nothing else is promised of it
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE outcomes (
      path TEXT NOT NULL,              -- of the suite run
      n INTEGER NOT NULL,              -- from 0, in the order of the results
      caseId TEXT NOT NULL,
      outcome TEXT NOT NULL,           -- pass, fail, inconclusive or error
      live INTEGER NOT NULL,           -- 1 where the agent was run for it
      safety INTEGER NOT NULL,         -- 1 where one failure fails it
      passThreshold INTEGER,           -- trials that had to pass; null without a plan
      pass INTEGER NOT NULL,           -- trials by outcome
      fail INTEGER NOT NULL,
      inconclusive INTEGER NOT NULL,
      error INTEGER NOT NULL,
      trials TEXT NOT NULL,            -- their outcomes in order: a letter each, p f i e
      flaky INTEGER NOT NULL,          -- 1 where it is live, and some passed and some failed
      expectation TEXT,                -- the first that decided, where it did not pass
      message TEXT,                    -- what was said of that
      failedChecks INTEGER NOT NULL,   -- expectations that failed
      warnedChecks INTEGER NOT NULL,   -- expectations that failed and only warn
      fault TEXT,                      -- why it could not be judged
      runs INTEGER,                    -- the runs that the sums below are of; null: none is known
      steps INTEGER,
      toolCalls INTEGER,
      inputTokens INTEGER,
      outputTokens INTEGER,
      cost REAL,                       -- null where it is not known
      elapsedMicroseconds INTEGER,
      agent TEXT,
      model TEXT,
      subject TEXT,                    -- digest of agent, model, policy, tools and limits
      asked TEXT,                      -- digest of input and expectations
      cluster TEXT,
      PRIMARY KEY (path, n)
    ) STRICT, WITHOUT ROWID
    """,
  ]

  /// The columns of `runs`, in order.
  static let runColumns = [
    "path", "runId", "caseId", "trial", "agent", "agentVersion", "model", "models", "actorId",
    "tenantId", "route", "parentRunId", "parentRelation", "depth", "origin",
    "goal", "stopReason", "stopDetail", "final", "answer", "steps", "toolCalls", "modelCalls",
    "inputTokens", "outputTokens", "cost", "allowed", "denied", "approvalRequired",
    "unlistedCalls", "startedAt", "elapsedMicroseconds", "events", "sealDigest", "status", "error",
    "readFrom", "fileSize", "modifiedAt", "fingerprint",
  ]
}
