import type { Profile, ProfileChange } from "./queries";

export type ProfileValues = { about: string; address: string; description: string; email: string; websites: string };

export function profileValues(profile: Profile): ProfileValues {
  return {
    about: profile.about ?? "",
    address: profile.address ?? "",
    description: profile.description ?? "",
    email: profile.email ?? "",
    websites: (profile.websites ?? []).join(" "),
  };
}

/** The change of a profile: only what was edited. The network does not take an empty "about": then it stays as it is. */
export function profileOf(values: ProfileValues, before: ProfileValues): ProfileChange {
  const edited = Object.entries(values).filter(([name, value]) => value !== before[name as keyof ProfileValues]);
  const { about, websites, ...rest }: Partial<ProfileValues> = Object.fromEntries(edited);
  const list = websites?.split(/[\s,]+/).filter(Boolean);
  return { ...rest, ...(list ? { websites: list } : {}), ...(about ? { about } : {}) };
}
