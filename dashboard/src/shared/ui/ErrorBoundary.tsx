import { Component, type ReactNode } from "react";
import { Failure } from "./Failure";

type Props = { children: ReactNode };
type State = { error: Error | null };

/** Shows an error of the whole app instead of an empty page. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override render(): ReactNode {
    if (!this.state.error) return this.props.children;
    return <Failure error={this.state.error} onRetry={() => this.setState({ error: null })} />;
  }
}
