import type { UseMutationResult } from "@tanstack/react-query";

type Change<Input, Output> = Pick<UseMutationResult<Output, Error, Input>, "mutateAsync">;
type After<Output> = {
  onSuccess?: (output: Output) => void;
  onError?: (error: Error) => void; // without it, the form shows the error
  onSettled?: () => void;
};

/**
 * Makes a change, and then what has to happen after it: closing a dialog, a notice, another page.
 *
 * The callbacks of `mutate` are not called if the component is gone by then, which a live update or scrolling can cause.
 * These are.
 */
export function perform<Input, Output>(change: Change<Input, Output>, input: Input, after: After<Output>): void {
  const { onSuccess = () => {}, onError = () => {}, onSettled = () => {} } = after;
  void change.mutateAsync(input).then(onSuccess, onError).finally(onSettled);
}

/** Makes a change, unless it contains nothing, which the gateway would reject. Then it says that it is done. */
export function performChange<Input extends object, Output>(
  change: Change<Input, Output>,
  input: Input,
  onDone: () => void,
): void {
  if (Object.keys(input).length === 0) onDone();
  else perform(change, input, { onSuccess: onDone });
}
