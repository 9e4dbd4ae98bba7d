/** The phones of one or several people, side by side. */
export function Messenger({ persons }: { persons: string[] }) {
  return (
    <section class="empty">
      <h1>Phones</h1>
      <p>{persons.length ? `Here are the phones of ${persons.join(", ")}.` : "Choose a person."}</p>
    </section>
  );
}
