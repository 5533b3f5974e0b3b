/** The style of every page that is a single file: light or dark, following the system, in one column that reflows. */

export const pageStyle = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #d1d9e0; --paper: #ffffff; --box: #f3f5f7; --bar: #0072b2; --heat: 0, 114, 178; --bad: #b42318; --shade: rgba(27, 31, 36, .22); }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa5b1; --line: #363d46; --paper: #14181d; --box: #1f252c; --bar: #56b4e9; --heat: 86, 180, 233; --bad: #ff8f80; --shade: rgba(230, 237, 243, .3); } .figure > svg { filter: invert(0.91) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 80rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.25; overflow-wrap: anywhere; } h2 { margin: 2.6rem 0 .5rem; font-size: 1.25rem; } h3 { margin: 1.2rem 0 .3rem; font-size: 1rem; }
p { margin: .35rem 0; max-width: 46rem; } .soft { color: var(--soft); } .bad { color: var(--bad); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr)); gap: .8rem; margin: 1.2rem 0; }
.card { background: var(--box); border-radius: 8px; padding: .8rem 1rem; } .card b { display: block; font-size: 1.8rem; line-height: 1.2; font-variant-numeric: tabular-nums; } .card span { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; margin: .8rem 0; background: linear-gradient(to right, var(--paper) 50%, transparent) -2px 0 / 1.6rem 100% no-repeat local, linear-gradient(to left, var(--paper) 50%, transparent) calc(100% + 2px) 0 / 1.6rem 100% no-repeat local, linear-gradient(to right, var(--shade), transparent) left / .6rem 100% no-repeat, linear-gradient(to left, var(--shade), transparent) right / .6rem 100% no-repeat; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; } th:first-child { text-align: left; }
thead th { border-bottom: 1px solid var(--ink); vertical-align: bottom; } tbody th { font-weight: 500; } tr.sum > *, .sum { font-weight: 600; }
td.bar { width: 12rem; min-width: 8rem; } .track { display: block; height: .7rem; background: var(--box); border-radius: 4px; } .track i { display: block; height: 100%; background: var(--bar); border-radius: 4px; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; } .figure { background: #fff; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; max-width: 100%; }
@media (prefers-color-scheme: dark) { .figure { background: var(--paper); } }
.figure svg { display: block; max-width: 100%; height: auto; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(11rem, 44%), 1fr)); gap: 1rem; margin: .8rem 0; padding: 0; list-style: none; }
.gallery li { background: var(--box); border-radius: 8px; overflow: hidden; }
.shown { display: grid; place-items: center; height: 9rem; background: var(--box); border-bottom: 1px solid var(--line); overflow: hidden; }
.shown > * { grid-area: 1 / 1; max-width: 100%; max-height: 9rem; } .shown .heat { transition: opacity .15s; } .shown:hover .heat { opacity: 0; }
.galleries:has(.heats:not(:checked)) .heat { display: none; }
.none { color: var(--soft); font-size: .85rem; padding: 1rem; text-align: center; }
.gallery li > div { padding: .5rem .7rem .7rem; overflow-wrap: anywhere; } .gallery em { font-style: normal; color: var(--bad); } .gallery small { display: block; color: var(--soft); }
dl { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .25rem 1.2rem; margin: .6rem 0; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .5rem; } }
pre { background: var(--box); border-radius: 8px; padding: .7rem 1rem; margin: .2rem 0 .8rem; white-space: pre-wrap; overflow-wrap: anywhere; font: .9rem/1.5 ui-monospace, monospace; }
ul.plain { margin: .3rem 0; padding-left: 1.3rem; } ul.plain li { overflow-wrap: anywhere; }
table.sheet { width: 100%; table-layout: fixed; } table.sheet col:first-child { width: 9rem; }
table.sheet th, table.sheet td { text-align: left; vertical-align: top; white-space: normal; overflow-wrap: anywhere; padding: .4rem .6rem; }
.cell { display: flex; flex-wrap: wrap; gap: 4px; } .cell img, .cell .none { width: 68px; height: 68px; background: var(--box); border: 1px solid var(--line); border-radius: 4px; object-fit: contain; }
.cell .none { display: grid; place-items: center; padding: 0; font-size: 11px; line-height: 1.2; } .small img { image-rendering: pixelated; }
`;

/**
 * Rules for phones, after all others: tables in smaller type and without bars, so that more columns fit, and charts that
 * scroll sideways, because their labels cannot be read when they are scaled down to the width of the screen. A shadow at
 * the edge of a table shows that it scrolls.
 */
export const narrowStyle = `
@media (max-width: 34rem) {
  body { padding: 1.2rem .9rem 3rem; }
  table { font-size: .85rem; } th, td { padding: .3rem .45rem; } thead th { white-space: normal; } td.bar, th:empty:last-child { display: none; }
  .figure { overflow-x: auto; } .figure svg { max-width: max(100%, 28rem); }
  table.sheet col:first-child { width: 6.4rem; } table.sheet th, table.sheet td { padding: .3rem .2rem; }
  .cell img, .cell .none { width: 38px; height: 38px; }
}
`;
