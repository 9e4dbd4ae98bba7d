import { formatDay, formatTime, now } from "./clock";
import { connection, lostBecause } from "./feed";
import { clock } from "./resources";
import { formatRoute, type Phones, route } from "./route";

let lastPhones: Phones = { view: "phones", persons: [], open: {} }; // to which "Phones" goes back

/** The bar above everything: where one is, and the time on the sandbox clock. */
export function TopBar() {
  const here = route.value;
  if (here.view === "phones") lastPhones = here;
  return (
    <header class="top-bar">
      <nav aria-label="Main">
        <a href={formatRoute(lastPhones)} aria-current={here.view === "phones" ? "page" : undefined}>
          Phones
        </a>
        <a href="#/panel" aria-current={here.view === "panel" ? "page" : undefined}>
          Panel
        </a>
      </nav>
      <Time />
    </header>
  );
}

function Time() {
  const state = clock.value.value;
  if (!state) return null;
  const seconds = now.value;
  const pace = state.frozen ? "frozen" : state.speed === 1 ? "" : `× ${state.speed}`;
  return (
    <a class="top-clock" href="#/panel/clock">
      <span class="visually-hidden">Clock of the sandbox: </span>
      <time dateTime={new Date(seconds * 1000).toISOString()}>
        <span class="top-day">{formatDay(seconds)}</span> {formatTime(seconds)}
      </time>
      {pace && <span class="tag">{pace}</span>}
    </a>
  );
}

/** Says that the page is not live, and why. */
export function LostBanner() {
  return (
    <div class="lost" role="status">
      {connection.value === "lost" && (
        <p>
          <strong>Connection lost.</strong> {lostBecause.value} Trying again…
        </p>
      )}
    </div>
  );
}
