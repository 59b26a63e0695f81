/// A trace with vector clocks, as the ShiViz visualizer reads it (https://bestchai.bitbucket.io/shiviz/).
///
/// Two lines an entry: the host with its clock, and what happened.
package enum ShiVizLog {
    /// What ShiViz must be told to parse the log.
    package static let expression = #"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"#

    package static func text(of trace: Trace) -> String {
        var clocks = Array(repeating: Array(repeating: 0, count: trace.machineCount), count: trace.machineCount)
        var sent: [Int: [Int]] = [:]
        var lines: [String] = []
        for (number, entry) in trace.entries.enumerated() {
            guard let machine = entry.machine else { continue }
            if case .arrived(let origin, _, let isHeard) = entry.kind {
                guard isHeard else { continue }
                for (other, count) in (sent[origin] ?? []).enumerated() {
                    clocks[machine][other] = max(clocks[machine][other], count)
                }
            }
            clocks[machine][machine] += 1
            if case .sent = entry.kind { sent[number] = clocks[machine] }
            lines.append("peer\(machine) \(self.json(clocks[machine]))")
            let event = "\(ColumnTimeline.seconds(entry.time)) \(entry.kind.text)"
            lines.append(event.replacing("\n", with: " "))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func json(_ clock: [Int]) -> String {
        let entries = clock.enumerated().filter { $0.element > 0 }.map { "\"peer\($0.offset)\":\($0.element)" }
        return "{\(entries.joined(separator: ","))}"
    }
}
