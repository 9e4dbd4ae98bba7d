import { render } from "preact";
import "./shared/theme.css";
import "./shared/shell.css";
import { Messenger } from "./messenger/Messenger";
import { Panel } from "./panel/Panel";
import { startClock } from "./shared/clock";
import { ignoreStrayFiles } from "./shared/drops";
import { route } from "./shared/route";
import { start } from "./shared/store";
import { LostBanner, TopBar } from "./shared/TopBar";

function Page() {
  const here = route.value;
  return (
    <>
      <TopBar />
      <LostBanner />
      <main>{here.view === "panel" ? <Panel part={here.part} /> : <Messenger persons={here.persons} />}</main>
    </>
  );
}

ignoreStrayFiles();
start();
startClock();
const root = document.getElementById("root");
if (root) render(<Page />, root);
