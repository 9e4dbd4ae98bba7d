import { readTexts } from "../../shared/search";

/** The filters of the list. They are in the address, so that a view can be bookmarked and shared. */
export type TemplateSearch = { channel?: string; status?: string; name?: string; template?: string };

const TEXTS = ["channel", "status", "name", "template"] as const;

/** Reads the filters from the address; what makes no sense is left out. */
export function readTemplateSearch(search: Record<string, unknown>): TemplateSearch {
  return readTexts(search, TEXTS);
}
