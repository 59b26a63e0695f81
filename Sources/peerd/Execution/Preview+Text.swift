internal import CRDTCore
internal import Foundation
internal import LocalAPI
internal import PeerdKit
internal import PeerdPreview

extension Preview {
    private static let entryCountMax = 8
    private static let propertyCountMax = 5

    /// The answer on one screen, for people.
    var lines: [String] {
        var lines = self.devices.map { $0.line(propertyCountMax: Self.propertyCountMax) }
        lines.append("")
        lines += self.orderLines
        lines.append("over \(self.link.line):")
        lines += Self.limited(self.transfers.map { ["  \(self.line(of: $0))"] })
        if let outcome = self.outcome { lines += self.lines(of: outcome) }
        return lines + ["", self.verdictLine]
    }

    private var orderLines: [String] {
        let how =
            self.orders.seed.map { "\(PlainText.count(self.orders.count, "order")), drawn from seed \($0)" }
            ?? "all orders of syncs (\(self.orders.count))"
        let result =
            self.orders.areAllEqual
            ? "all end the same" : "\(self.orders.deviations.count) of them do not end like the first one"
        let deviations = self.orders.deviations.map { deviation in
            let order = deviation.order.map { self.names(of: $0).joined(separator: "–") }
            return ["  \(order.joined(separator: ", ")): \(deviation.detail)"]
        }
        return ["\(how), \(PlainText.count(self.orders.syncCount, "sync")): \(result)"] + Self.limited(deviations)
    }

    private func line(of transfer: Transfer) -> String {
        let pair = self.names(of: transfer.devices).joined(separator: " and ")
        switch transfer.ending {
        case .strangers: return "\(pair) do not know each other yet"
        case .unequal(let reason): return "\(pair): \(reason)"
        case .equal:
            let counts = [transfer.byteCountFromFirst, transfer.byteCountFromSecond]
            let sent = counts.map { PlainText.bytes($0) }
            return "\(pair): \(sent[0]) and \(sent[1]), about \(transfer.duration.shortText)"
        }
    }

    private func names(of pair: Pair) -> [String] {
        [pair.first, pair.second].map { self.name(of: $0) }
    }

    private func lines(of outcome: Outcome) -> [String] {
        let values = outcome.conflicts.filter { $0.subject != .place }.map { conflict in
            let place = "\(outcome.line(of: conflict.object)) \(conflict.property ?? "(made)")"
            return ["  \(place): \(conflict.winner?.line ?? "")"] + conflict.losers.map { "    over \($0.line)" }
        }
        let undone = outcome.movesUndone.map { move in
            ["  \(outcome.line(of: move.object)): \(move.move.line)", "    it would close a cycle"]
        }
        let overridden = outcome.conflicts.filter { $0.subject == .place }.map { conflict in
            conflict.losers.map { "  \(outcome.line(of: conflict.object)): \($0.line)" }
                + ["    moved elsewhere: \(conflict.winner?.line ?? "each move would close a cycle")"]
        }
        let revivals = outcome.revivals.map { revival in
            let deletion = revival.deletion.map { " by \($0.source)" } ?? ""
            let reason = revival.edit.map { "kept by \($0.line)" } ?? "kept for an object below it"
            return ["  \(outcome.line(of: revival.object)): deleted\(deletion)", "    \(reason)"]
        }
        var lines =
            Self.section("values that lose", values) + Self.section("moves that lose", undone + overridden)
            + Self.section("deleted, and back", revivals)
            + Self.section("waiting", outcome.waits.map { ["  \($0.line)"] })
        if outcome.knownConflictCount > 0 {
            let count = PlainText.count(outcome.knownConflictCount, "older conflict")
            lines += ["", "\(count) that \"peerd conflicts\" shows already"]
        }
        let media = outcome.blobReferenceCount
        let carried = media == 0 ? "none" : "\(PlainText.count(media, "reference")), which no device carries yet"
        return lines + ["", "media: \(carried)"]
    }

    private static func section(_ title: String, _ entries: [[String]]) -> [String] {
        entries.isEmpty ? [] : ["", "\(title) (\(entries.count))"] + self.limited(entries)
    }

    private var verdictLine: String {
        switch self.verdict {
        case .same: "All devices end the same, and nothing is in conflict."
        case .conflicts: "All devices end the same. Look at the above."
        case .diverges: "DO NOT SYNC YET: devices would differ."
        }
    }

    private static func limited(_ entries: [[String]]) -> [String] {
        let lines = entries.prefix(self.entryCountMax).flatMap { $0 }
        guard entries.count > self.entryCountMax else { return lines }
        return lines + ["  and \(entries.count - self.entryCountMax) more; --json shows all"]
    }
}

extension Preview.Outcome {
    /// The object as other verbs show it.
    fileprivate func line(of object: ObjectID) -> String {
        self.object(object).map { ObjectSummary($0).line } ?? object.description
    }
}

extension Preview.Device {
    fileprivate func line(propertyCountMax: Int) -> String {
        let line = "\(self.name): \(PlainText.count(self.objectCount, "object"))"
        guard let missing = self.missing else { return line }
        guard missing.changeCount > 0 else { return "\(line); lacks nothing" }
        let totals = [
            PlainText.count(missing.changeCount, "change"),
            PlainText.count(missing.operationCount, "operation"),
            PlainText.count(missing.objectCount, "object"),
        ]
        let writes = missing.writeCounts.map { ($0.key, $0.value) }
        let others = [
            ("(made)", missing.creationCount), ("(moved)", missing.moveCount), ("(deleted)", missing.deletionCount),
        ]
        let parts = (writes + others).filter { $0.1 > 0 }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
        var shown = parts.prefix(propertyCountMax).map { "\($0.0) \($0.1)" }
        if parts.count > propertyCountMax { shown.append("…") }
        let detail = shown.isEmpty ? "" : ": \(shown.joined(separator: ", "))"
        let vanishing = missing.vanishingObjectCount
        let lost = vanishing == 0 ? "" : "; \(PlainText.count(vanishing, "object")) there deleted elsewhere"
        return "\(line); lacks \(totals[0]) with \(totals[1]) on \(totals[2])\(detail)\(lost)"
    }
}

extension Preview.Link {
    fileprivate var line: String {
        let rate = self.bytesPerSecond * 8
        let shown = rate >= 10_000_000 ? "\(rate / 1_000_000) Mbit/s" : "\(rate / 1_000) kbit/s"
        return "\(self.name), \(shown), \(self.latency / .milliseconds(1)) ms each way"
    }
}

extension Preview.Write {
    /// The author and the time.
    fileprivate var source: String {
        "\(self.author.name), \(PlainText.time(self.date.millisecondsSince1970))"
    }

    fileprivate var line: String {
        let what =
            switch self.action {
            case .create: "(made)"
            case .set(let name, let value): "\(name) = \(PlainText.shortened(value.json.canonicalText))"
            case .unset(let name): "\(name) (removed)"
            case .move(let parent): "under \(parent?.description ?? "the root")"
            case .delete: "(deleted)"
            case .housekeeping, .unread: "an operation"
            }
        return "\(what), by \(self.source)"
    }
}

extension Conflict.Version {
    /// The write in one line of a screen.
    fileprivate var line: String {
        let what =
            switch self.content {
            case .place(let parent): "under \(parent?.description ?? "the root")"
            case .value(let value): PlainText.shortened(value.json.canonicalText)
            case .removal: "(removed)"
            case .creation(let type, let kind): "type \(type), kind \(kind.isEmpty ? "none" : kind)"
            }
        let time = PlainText.time(self.date.millisecondsSince1970)
        return "\(what), by \(self.author.name), \(time)"
    }
}

extension Status.Wait {
    fileprivate var line: String {
        let changes = "\(PlainText.count(self.changeCount, "change")) of \(self.deviceName)"
        switch self.reason {
        case .held(let until):
            let time = PlainText.time(until.millisecondsSince1970)
            return "\(changes): stamped in the future, applied from \(time) on"
        case .missingChanges: return "\(changes): made on changes that none of these devices has"
        }
    }
}

extension Duration {
    /// The duration in the unit that suits it.
    fileprivate var shortText: String {
        let milliseconds = Int64(self / .milliseconds(1))
        switch milliseconds {
        case ..<10_000: return "\(milliseconds) ms"
        case ..<600_000: return "\(milliseconds / 1_000) s"
        default: return "\(milliseconds / 60_000) min"
        }
    }
}
