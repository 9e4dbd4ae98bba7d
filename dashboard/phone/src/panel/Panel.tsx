/** The control panel: what the network and its people do. */
export function Panel({ part }: { part: string }) {
  return (
    <section class="empty">
      <h1>Panel</h1>
      <p>{part || "Choose a part."}</p>
    </section>
  );
}
