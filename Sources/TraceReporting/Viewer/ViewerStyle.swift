/// How the viewer file looks.
enum ViewerStyle {
  private static let dark = """
    color-scheme: dark; --back: #0d1117; --ink: #e6edf3; --faint: #8d96a0; --line: #30363d;
      --soft: #161b22; --good: #3fb950; --bad: #ff7b72; --warning: #d29922; --mark: #2b3648;
      --bar: #4b6a94; --new: #58a6ff;
    """

  static let style = """
    :root { color-scheme: light; --back: #fff; --ink: #1c2128; --faint: #656d76; --line: #d8dee4;
      --soft: #f6f8fa; --good: #1a7f37; --bad: #cf222e; --warning: #9a6700; --mark: #ddf4ff;
      --bar: #8bb4e0; --new: #0969da; }
    @media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { \(dark) } }
    :root[data-theme="dark"] { \(dark) }
    * { box-sizing: border-box; }
    html, body { height: 100%; margin: 0; }
    body { display: grid; grid-template: auto auto minmax(0, 1fr) auto / minmax(0, 1fr); background: var(--back);
      color: var(--ink); font: 14px/1.45 system-ui, sans-serif; }
    header { display: flex; gap: .5rem .8rem; align-items: center; padding: .5rem .8rem;
      border-bottom: 1px solid var(--line); }
    #names { min-width: 0; flex: 1; }
    #tree { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: .3rem .8rem; max-height: 6rem;
      overflow: auto; }
    #tree a { color: inherit; }
    h1, #goal { margin: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    h1 { font-size: .95rem; }
    #goal, .faint, #said { color: var(--faint); }
    #said { max-width: 16rem; }
    button, #search { font: inherit; color: inherit; background: var(--soft);
      border: 1px solid var(--line); border-radius: .4rem; padding: .15rem .6rem; }
    button { cursor: pointer; white-space: nowrap; }
    button:hover { border-color: var(--faint); }
    button[aria-pressed="true"] { border-color: var(--new); }
    #search { width: 11rem; }
    .good { color: var(--good); } .bad { color: var(--bad); } .warning { color: var(--warning); }
    .heading { font-weight: 600; }
    #band { display: flex; gap: .5rem; padding: .3rem .8rem; border-bottom: 1px solid var(--line); }
    #chart { flex: 1; min-width: 0; height: 56px; cursor: pointer; }
    #measures { display: flex; flex-direction: column; gap: 1px; }
    #measures button { padding: 0 .5rem; font-size: 11px; line-height: 16px; }
    main { display: grid; grid-template-columns: minmax(0, 11fr) minmax(0, 10fr); min-height: 0; }
    #list { overflow: auto; border-right: 1px solid var(--line); outline: none; contain: strict; }
    #space { position: relative; }
    .row, pre, .fact, .jump, .names, h1, #findings { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
      font-size: 12.5px; }
    .row { position: absolute; inset: 0 0 auto; height: 22px; line-height: 22px; display: flex;
      gap: .7rem; padding: 0 .6rem; white-space: pre; cursor: default; }
    .row[hidden] { display: none; }
    .row .seq { width: 3.2rem; flex: none; text-align: right; color: var(--faint); font-weight: 400; }
    .row .label { width: 5.2rem; flex: none; }
    .row .text { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; color: var(--ink);
      font-weight: 400; }
    .row .tail { max-width: 9rem; overflow: hidden; text-overflow: ellipsis; color: var(--faint);
      font-weight: 400; }
    .row.faint .text { color: var(--faint); }
    .row.step { background: var(--soft); font-weight: 600; }
    .row.step .text { color: var(--faint); }
    .row[aria-selected="true"] { background: var(--mark); box-shadow: inset 3px 0 var(--new); }
    #list:focus-visible .row[aria-selected="true"] { outline: 1px solid var(--new);
      outline-offset: -1px; }
    #event { overflow: auto; padding: .6rem 1rem 2rem; }
    #event h2 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
    #event p { margin: 0 0 .6rem; }
    h3 { margin: .9rem 0 .3rem; font-size: .85rem; color: var(--faint); font-weight: 600;
      overflow-wrap: anywhere; }
    pre { margin: .2rem 0; padding: .3rem .5rem; background: var(--soft); border-radius: .3rem;
      white-space: pre-wrap; overflow-wrap: anywhere; }
    .message { margin: .3rem 0; padding-left: .6rem; border-left: 3px solid var(--line); }
    .message.new { border-left-color: var(--new); }
    .message.new > .name { color: var(--new); }
    .name { color: var(--faint); }
    .fact { display: flex; gap: .8rem; overflow-wrap: anywhere; }
    .fact .name { flex: none; }
    #event .fact .name { min-width: 6rem; max-width: 16rem; }
    .fact > span + span { min-width: 0; }
    .fact .jump { margin: 0 0 auto auto; }
    .jump, .more { margin: .2rem .4rem .2rem 0; padding: 0 .5rem; color: var(--new); }
    summary { cursor: pointer; color: var(--faint); margin-top: .6rem; }
    #state { display: flex; flex-wrap: wrap; gap: .1rem 1.4rem; padding: .4rem .8rem; max-height: 7rem;
      overflow: auto; border-top: 1px solid var(--line); background: var(--soft); }
    #state .fact { gap: .4rem; }
    dialog { max-width: 46rem; color: var(--ink); background: var(--back);
      border: 1px solid var(--line); border-radius: .5rem; }
    dialog h2 { margin: 0 0 .6rem; font-size: 1rem; }
    dialog::backdrop { background: #0006; }
    dialog td { padding: .1rem 1.2rem .1rem 0; vertical-align: top; }
    dialog td:first-child { white-space: nowrap; font-family: ui-monospace, monospace; }
    #findings p { overflow-wrap: anywhere; }
    noscript { position: fixed; inset: 0; padding: 2rem; background: var(--back); }
    @media (max-width: 900px) {
      #search { width: 7rem; }
      #goal { display: none; }
      .row .seq { width: 2.4rem; }
      .row .label { width: 4.4rem; }
      .row .tail { display: none; }
    }
    @media (max-width: 640px) {
      header { flex-wrap: wrap; }
      main { grid-template-columns: 1fr; grid-template-rows: minmax(0, 1fr) minmax(0, 1fr); }
      #list { border-right: 0; border-bottom: 1px solid var(--line); }
    }
    """
}
