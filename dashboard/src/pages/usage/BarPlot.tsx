import { ColorSwatch, Group, Stack, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type PointerEvent, useState } from "react";
import { number, shortNumber } from "../../shared/numbers";
import classes from "./BarPlot.module.css";
import { type Series, ticksFor, total } from "./series";

const HEIGHT = 240;
const LEFT = 52;
const BOTTOM = 24;
const TOP = 10;
const LABEL_WIDTH = 64; // of a date below the bars

export const COLORS = ["teal.6", "red.5", "blue.5", "orange.5", "grape.5", "yellow.5", "cyan.5", "gray.5"].map(
  (name) => `var(--mantine-color-${name.replace(".", "-")})`,
);

type Props = {
  title: string;
  days: string[];
  series: Series[];
  limit?: { label: string; value: number };
  cumulative?: boolean; // the last value is the total
};

/** Bars on top of one another, one column for each day. The numbers of the day under the pointer are in the legend. */
export function BarPlot({ title, days, series, limit, cumulative = false }: Props) {
  const { ref, width } = useElementSize();
  const [pointed, setPointed] = useState<number | null>(null);
  const sums = days.map((_, i) => series.reduce((sum, one) => sum + (one.values[i] ?? 0), 0));
  const ticks = ticksFor(Math.max(0, limit?.value ?? 0, ...sums));
  const highest = ticks.at(-1) ?? 1;
  const inner = HEIGHT - TOP - BOTTOM;
  const y = (value: number) => TOP + inner * (1 - value / highest);
  const step = Math.max(0, width - LEFT) / Math.max(1, days.length);
  const every = Math.max(1, Math.ceil(LABEL_WIDTH / Math.max(1, step)));
  const shown = pointed !== null && pointed < days.length ? pointed : null;
  const shownValue = (one: Series) =>
    (shown !== null ? one.values[shown] : cumulative ? one.values.at(-1) : total(one)) ?? 0;
  const point = (event: PointerEvent) => {
    const at = Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT) / step);
    setPointed(at >= 0 && at < days.length ? at : null);
  };
  return (
    <Stack gap="xs" component="figure" m={0}>
      <Group gap="md" mih={24} component="figcaption">
        {series.map((one, i) => (
          <Group key={one.label} gap={6} wrap="nowrap">
            <ColorSwatch color={COLORS[i % COLORS.length] ?? ""} size={12} withShadow={false} aria-hidden />
            <Text size="sm">
              {one.label}{" "}
              <Text span fw={600}>
                {number(shownValue(one))}
              </Text>
            </Text>
          </Group>
        ))}
        {limit && (
          <Text size="sm" c="dimmed">
            {limit.label} {number(limit.value)}
          </Text>
        )}
        {shown !== null && (
          <Text size="sm" c="dimmed" ml="auto">
            {dayWords(days[shown] ?? "")}
          </Text>
        )}
      </Group>
      <div ref={ref} className={classes.plot}>
        {width > 0 && (
          <svg
            width={width}
            height={HEIGHT}
            role="img"
            aria-label={title}
            onPointerMove={point}
            onPointerDown={point}
            onPointerLeave={() => setPointed(null)}
          >
            {ticks.map((tick) => (
              <g key={tick}>
                <line x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} className={classes.grid} />
                <text x={LEFT - 8} y={y(tick) + 4} textAnchor="end" className={classes.text}>
                  {shortNumber(tick)}
                </text>
              </g>
            ))}
            {days.map((day, i) => (
              <Column
                key={day}
                x={LEFT + i * step}
                width={step}
                parts={series.map((one) => one.values[i] ?? 0)}
                y={y}
                dimmed={shown !== null && shown !== i}
              />
            ))}
            {days.map(
              (day, i) =>
                i % every === 0 &&
                LEFT + i * step + LABEL_WIDTH * 0.6 < width && (
                  <text key={day} x={LEFT + i * step} y={HEIGHT - 6} className={classes.text}>
                    {shortDay(day)}
                  </text>
                ),
            )}
            {limit && <line x1={LEFT} x2={width} y1={y(limit.value)} y2={y(limit.value)} className={classes.limit} />}
          </svg>
        )}
      </div>
    </Stack>
  );
}

type ColumnProps = {
  x: number;
  width: number;
  parts: number[];
  y: (value: number) => number;
  dimmed: boolean;
};

function Column({ x, width, parts, y, dimmed }: ColumnProps) {
  const gap = Math.min(6, width * 0.2);
  let below = 0;
  return (
    <g opacity={dimmed ? 0.45 : 1}>
      {parts.map((value, i) => {
        const from = below;
        below += value;
        if (!value) return null;
        const height = Math.max(1, y(from) - y(below));
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a column never change their order
            key={i}
            x={x + gap / 2}
            y={y(from) - height}
            width={Math.max(1, width - gap)}
            height={height}
            fill={COLORS[i % COLORS.length]}
            data-bar={value}
          />
        );
      })}
    </g>
  );
}

const longDay = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const monthDay = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

/** A day such as 2026-11-15 in the viewer's words. */
export function dayWords(day: string): string {
  return longDay.format(new Date(`${day}T00:00:00Z`));
}

function shortDay(day: string): string {
  return monthDay.format(new Date(`${day}T00:00:00Z`));
}
