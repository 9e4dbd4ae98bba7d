import { done } from "./requests";
import { CurlLine, Tag } from "./ui";

/** The requests of the panel, the latest first, each as a curl line. */
export function Dock() {
  const [last, ...earlier] = done.value;
  return (
    <section class="dock" aria-label="What the panel did" aria-live="polite">
      {!last && <p class="hint">What you do here is shown as a curl line.</p>}
      {last && <Row curl={last.curl} outcome={last.outcome} failed={last.failed} />}
      {earlier.length > 0 && (
        <details>
          <summary>Earlier requests ({earlier.length})</summary>
          {earlier.map((one) => (
            <Row key={one.id} curl={one.curl} outcome={one.outcome} failed={one.failed} />
          ))}
        </details>
      )}
    </section>
  );
}

function Row({ curl, outcome, failed }: { curl: string; outcome: string; failed: boolean }) {
  return (
    <div class="dock-row">
      <Tag look={failed ? "bad" : "good"}>{outcome}</Tag>
      <CurlLine curl={curl} />
    </div>
  );
}
