/// What every HTML report has in common, whatever is in it.
enum HTMLPage {
  static let style = """
    :root { color-scheme: light dark; --back: #fff; --ink: #1c2128; --faint: #656d76; --line: #d8dee4;
      --soft: #f6f8fa; --good: #1a7f37; --bad: #cf222e; --warning: #9a6700; --mark: #fff8c5; }
    @media (prefers-color-scheme: dark) { :root { --back: #0d1117; --ink: #e6edf3; --faint: #8d96a0;
      --line: #30363d; --soft: #161b22; --good: #3fb950; --bad: #ff7b72; --warning: #d29922;
      --mark: #3a2f0b; } }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 76rem; padding: 0 1.5rem 3rem; background: var(--back);
      color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
    header { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .6rem 1rem;
      align-items: center; padding: 1rem 0; background: var(--back);
      border-bottom: 1px solid var(--line); }
    h1 { margin: 0; font-size: 1.4rem; }
    h3 { margin: 1.2rem 0 .4rem; font-size: 1rem; }
    footer { margin-top: 2rem; color: var(--faint); font-size: .85rem; }
    pre, code, .name, .place, table { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
      font-size: 13px; }
    pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
    .filter { position: absolute; opacity: 0; }
    .chips { display: flex; flex-wrap: wrap; gap: .5rem; }
    .chip { padding: .1rem .7rem; border: 1px solid var(--line); border-radius: 1rem; cursor: pointer;
      user-select: none; }
    .chip.fail b, .chip.error b { color: var(--bad); }
    .chip.inconclusive b { color: var(--warning); }
    .chip.pass b { color: var(--good); }
    #search { margin-left: auto; min-width: 15rem; padding: .3rem .6rem; font: inherit;
      color: inherit; background: var(--soft); border: 1px solid var(--line); border-radius: .4rem; }
    .case { margin: .8rem 0; border: 1px solid var(--line); border-left: 4px solid var(--faint);
      border-radius: .4rem; padding: .5rem .9rem; }
    .case.fail, .case.error { border-left-color: var(--bad); }
    .case.inconclusive { border-left-color: var(--warning); }
    .case.pass { border-left-color: var(--good); margin: .3rem 0; }
    .case > summary { cursor: pointer; overflow-wrap: anywhere; }
    .badge { display: inline-block; min-width: 4.2rem; font-weight: 600; }
    .fail > summary .badge, .error > summary .badge { color: var(--bad); }
    .inconclusive > summary .badge { color: var(--warning); }
    .pass > summary .badge { color: var(--good); }
    .case.changed { border-left-color: var(--warning); }
    .changed > summary .badge { color: var(--warning); }
    .name { font-weight: 600; margin-right: .6rem; }
    a { color: inherit; }
    .checks, .place, .events, .passed, small, .faint { color: var(--faint); }
    .place { float: right; }
    .check { margin: .8rem 0; padding: .6rem .9rem; background: var(--soft); border-radius: .4rem; }
    .check p { margin: 0 0 .3rem; overflow-wrap: anywhere; }
    .check.fail .word, .bad { color: var(--bad); }
    .check.open .word, .warning { color: var(--warning); }
    .good { color: var(--good); }
    .heading { font-weight: 600; }
    .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: .6rem;
      margin: .5rem 0; }
    .pair > div { padding: .4rem .7rem; background: var(--back); border: 1px solid var(--line);
      border-radius: .3rem; }
    .pair b { font-size: .8rem; }
    .expected b { color: var(--good); }
    .actual b { color: var(--bad); }
    .command, .comparison, .error > pre { padding: .4rem .7rem; background: var(--soft);
      border-radius: .3rem; }
    .timeline { margin: .6rem 0; }
    .timeline > summary { cursor: pointer; color: var(--faint); }
    table { border-collapse: collapse; width: 100%; }
    td { padding: .05rem .6rem .05rem 0; vertical-align: top; overflow-wrap: anywhere; }
    td:first-child { width: 3.5rem; text-align: right; color: var(--faint); }
    td:nth-child(2) { width: 6.5rem; white-space: nowrap; }
    .step td { padding-top: .5rem; font-weight: 600; text-align: left; white-space: normal; }
    .gap td { color: var(--faint); font-style: italic; white-space: normal; }
    .evidence td { background: var(--mark); }
    tr:target td { outline: 2px solid var(--warning); outline-offset: -2px; }
    tr { scroll-margin-top: 6rem; }
    #show-fail:not(:checked) ~ main .case.fail, #show-error:not(:checked) ~ main .case.error,
    #show-inconclusive:not(:checked) ~ main .case.inconclusive,
    #show-pass:not(:checked) ~ main .case.pass,
    #show-skipped:not(:checked) ~ main .case.skipped, .case[hidden] { display: none; }
    #show-fail:not(:checked) ~ header .chip.fail, #show-error:not(:checked) ~ header .chip.error,
    #show-inconclusive:not(:checked) ~ header .chip.inconclusive,
    #show-pass:not(:checked) ~ header .chip.pass,
    #show-skipped:not(:checked) ~ header .chip.skipped { opacity: .4; text-decoration: line-through; }
    .filter:focus-visible ~ header .chips { outline: 2px solid var(--warning); }
    """

  /// Hides cases without the text that is looked for. Everything else works without it.
  static let script = """
    const search = document.getElementById("search");
    const none = document.getElementById("none");
    const cases = [...document.querySelectorAll(".case")].map(
      (element) => [element, element.textContent.toLowerCase()]);
    search.addEventListener("input", () => {
      const wanted = search.value.toLowerCase();
      let shown = 0;
      for (const [element, text] of cases) {
        element.hidden = !text.includes(wanted);
        if (!element.hidden) shown += 1;
      }
      none.hidden = shown > 0;
    });
    """
}
