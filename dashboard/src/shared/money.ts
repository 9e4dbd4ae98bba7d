type Decimal = `${number}`; // Intl formats the text itself, so that no digit is lost

/** An amount of money in the viewer's way of writing. */
export function money(amount: string | null | undefined, currency: string | null | undefined): string {
  if (!amount) return "–";
  try {
    const style = currency ? ({ style: "currency", currency } as const) : {};
    return new Intl.NumberFormat(undefined, style).format(amount as Decimal);
  } catch {
    return `${amount} ${currency}`; // not a currency that the browser knows
  }
}
