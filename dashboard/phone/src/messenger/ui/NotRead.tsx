/** Something could not be read: why, and a button that tries again. */
export function NotRead({ problem, onAgain }: { problem: string; onAgain: () => void }) {
  return (
    <div class="phone-empty" role="alert">
      <p class="problem">{problem}</p>
      <button type="button" class="button" onClick={onAgain}>
        Try again
      </button>
    </div>
  );
}
