import { Outlet } from "@tanstack/react-router";
import { GatewayBanner } from "./GatewayBanner";

export function Root() {
  return (
    <>
      <GatewayBanner />
      <Outlet />
    </>
  );
}
