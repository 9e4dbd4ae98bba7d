import { Component, type ComponentChildren } from "preact";

interface Props {
  instead: ComponentChildren;
  children: ComponentChildren;
}

/** Shows something else if its content cannot be drawn, so that one message of a stranger never ends the page. */
export class Fallback extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  static override getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.instead : this.props.children;
  }
}
