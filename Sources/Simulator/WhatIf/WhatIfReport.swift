internal import CRDTCore
internal import Engine

/// The answer: what would merge, what would lose, and whether the order of meetings matters.
struct WhatIfReport {
    struct Device {
        var name: String
        var path: String
        var id: DeviceID
        /// Objects that show there now.
        var objectCount: Int
    }

    /// What to do about it; the raw value is the exit code.
    enum Verdict: Int32 {
        case same = 0
        case conflicts = 1
        case diverges = 2
    }

    var devices: [Device]
    var link: Link
    var transfers: [WhatIf.Transfer]
    var orders: MeetingOrders.Result
    /// Nil if no order came to an end in which all hold the same.
    var forecast: Forecast?

    private static let linesShown = 8

    var verdict: Verdict {
        guard let forecast = self.forecast, self.orders.areAllEqual else { return .diverges }
        return forecast.needsLooking ? .conflicts : .same
    }

    // MARK: - One screen

    var text: String {
        var lines = self.devices.enumerated().map { self.deviceLine($0.offset, $0.element) }
        lines.append("")
        lines += self.orderLines
        lines += self.transferLines
        if let forecast = self.forecast { lines += self.lines(of: forecast) }
        lines.append("")
        lines.append(self.verdictLine)
        return lines.joined(separator: "\n")
    }

    private func deviceLine(_ number: Int, _ device: Device) -> String {
        var line = "\(device.name): \(device.objectCount) objects"
        if let lack = self.forecast?.lacks[number] {
            line +=
                lack.changeCount == 0
                ? "; lacks nothing" : "; lacks \(lack.changeCount) changes of \(lack.operationCount) operations"
            let names = lack.operationsByProperty.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            let shown = names.prefix(5).map { "\(PlainLine.printable($0.key)) \($0.value)" }
            if !shown.isEmpty {
                line += " on \(lack.operationsByObject.count) objects: " + shown.joined(separator: ", ")
                if names.count > shown.count { line += ", …" }
            }
        }
        if let vanishing = self.forecast?.vanishingCounts[number], vanishing > 0 {
            line += "; \(vanishing) objects there are deleted elsewhere"
        }
        return line
    }

    private var orderLines: [String] {
        let how =
            self.orders.seed.map { "\(self.orders.orderCount) orders of meetings, drawn from seed \($0)" }
            ?? "every order of meetings (\(self.orders.orderCount))"
        var lines = ["\(how), \(self.orders.meetingCount) meetings: "]
        lines[0] += self.orders.areAllEqual ? "all end the same" : "\(self.orders.deviations.count) end otherwise"
        lines += self.shown(self.orders.deviations.map { "  \($0.order): \($0.what)" })
        return lines
    }

    private var transferLines: [String] {
        ["over \(self.link.text):"]
            + self.shown(
                self.transfers.map { transfer in
                    let names = [transfer.pair.left, transfer.pair.right].map { self.devices[$0].name }
                    let pair = "  \(names[0]) and \(names[1])"
                    switch transfer.ending {
                    case .strangers: return "\(pair) do not know each other yet"
                    case .stuck(let reason): return "\(pair): \(reason)"
                    case .equal:
                        let sent = transfer.byteCounts.map { PlainLine.bytes($0) }
                        return "\(pair): \(sent[0]) and \(sent[1]), about \(PlainLine.duration(transfer.duration))"
                    }
                }
            )
    }

    private func lines(of forecast: Forecast) -> [String] {
        var lines: [String] = []
        func add(_ title: String, _ entries: [String]) {
            guard !entries.isEmpty else { return }
            lines += ["", "\(title) (\(entries.count))"] + self.shown(entries.map { "  \($0)" })
        }
        add(
            "values that lose",
            forecast.conflicts.map { conflict in
                "\(conflict.object.text) \(conflict.property): \(conflict.winner.line)"
                    + conflict.losers.map { "\n    over \($0.line)" }.joined()
            }
        )
        add(
            "moves that lose",
            forecast.lostMoves.map { move in
                let why =
                    move.reason == .cycle
                    ? "it would close a cycle" : "moved elsewhere: \(move.winner?.line ?? "by another device")"
                return "\(move.object.text): \(move.move.line)\n    \(why)"
            }
        )
        add(
            "deleted, and back",
            forecast.revivals.map { revival in
                let deletion = revival.deletion.map { " by \($0.device), \(PlainLine.time($0.milliseconds))" } ?? ""
                return "\(revival.object.text): deleted\(deletion)\n    "
                    + (revival.edit.map { "kept by \($0.line)" } ?? "kept for what is below it")
            }
        )
        add("waiting", forecast.held.map { "\($0.changeCount) changes of \($0.device): \($0.reason)" })
        if forecast.olderConflictCount > 0 {
            lines += ["", "besides, \(forecast.olderConflictCount) older conflicts that “peerd conflicts” shows now"]
        }
        lines.append("")
        lines.append(
            forecast.blobReferenceCount == 0
                ? "media: none of these databases refers to any"
                : "media: \(forecast.blobReferenceCount) references; what they name is not kept yet by any device"
        )
        return lines
    }

    private var verdictLine: String {
        switch self.verdict {
        case .same: "All end the same, and nothing is in conflict."
        case .conflicts: "All end the same. The above should be looked at."
        case .diverges: "DO NOT MERGE YET: devices would differ."
        }
    }

    private func shown(_ lines: [String]) -> [String] {
        guard lines.count > WhatIfReport.linesShown else { return lines }
        return lines.prefix(WhatIfReport.linesShown)
            + ["  and \(lines.count - WhatIfReport.linesShown) more; --json tells all"]
    }
}
