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

/** The change of a profile. The network does not take an empty "about": then it stays as it is. */
export function profileOf(values: ProfileValues): ProfileChange {
  const { about, websites, ...rest } = values;
  const list = websites.split(/[\s,]+/).filter(Boolean);
  return { ...rest, websites: list, ...(about ? { about } : {}) };
}
