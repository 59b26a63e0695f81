internal import CRDTCore
internal import Engine
public import Foundation
internal import Persistence

/// The result of removing a machine.
public struct MachineRemoval: Hashable, Sendable, Codable {
    /// The ids of the machines that are removed: the one that was named, and what it had let in and was not kept.
    public let removed: [String]
    /// The number of transactions of theirs that were here and count no more.
    public let cutTransactionCount: Int
    /// The names of machines that they had removed, and that stay so; to keep one puts it back.
    public let stillRemoved: [String]
}

extension Workspace {
    /// Removes a machine that is lost or stolen: its sessions end, nothing is sent to it, and what it writes counts
    /// nowhere.
    ///
    /// What it holds it keeps; what it had written and this machine has stays, unless a time is given. This machine
    /// must have let it in, directly or through others, or have been recovered later (``recover(at:with:)``). Machines
    /// of other people are removed by whoever owns what is shared.
    ///
    /// - Parameters:
    ///   - machine: the id of the machine.
    ///   - kept: the ids of machines that it has let in and that stay, with what they have let in. One that it has
    ///     removed is back: what it wrote since then does not count.
    ///   - takesOthers: whether the rest of what it has let in goes, too.
    ///   - time: what it says to have written later does not count either.
    /// - Returns: which machines are removed.
    /// - Throws: ``PeerdError`` with `notPermitted`, `invalidArgument` for this machine, for ids that are none and for
    ///   what would go without having been named, or as ``write(_:)`` does.
    @discardableResult
    public func remove(
        machine: String,
        keeping kept: [String] = [],
        takingOthers takesOthers: Bool = false,
        since time: Date? = nil
    ) async throws -> MachineRemoval {
        let known = try await self.machines()
        let device = try Self.device(machine, of: known)
        let keep = Set(try kept.map { try Self.device($0, of: known) })
        let since = time.map { WallTime(milliseconds: UInt64(max(0, min($0.timeIntervalSince1970 * 1000, 0x1p47)))) }
        return try await self.write { transaction in
            let report = try transaction.translating { local throws(WriteRefusal) in
                try local.remove(device: device, keeping: keep, takingOthers: takesOthers, since: since)
            }
            return MachineRemoval(
                removed: report.removed.map(\.description).sorted(),
                cutTransactionCount: Int(clamping: report.cutChangeCount),
                stillRemoved: report.stillRemoved
            )
        }
    }

    /// The other machines that were ever let in as far as is known here, with their names.
    package func machines() async throws -> [(device: DeviceID, name: String)] {
        var names: [DeviceID: String] = [:]
        for peer in try await self.nodeStatus().peers { names[peer.device] = peer.name }
        let logged = try await self.reading { transaction in
            transaction.segmentIndices.compactMap { transaction.segment($0).introduction }
        }
        for introduction in logged {
            if let device = introduction.device { names[device] = introduction.deviceName }
        }
        return names.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func device(_ id: String, of known: [(device: DeviceID, name: String)]) throws -> DeviceID {
        guard let found = known.first(where: { $0.device.description == id }) else {
            throw PeerdError(
                .invalidArgument,
                "“\(id.prefix(80))” is not the id of a machine.",
                advice: "Name a machine by the id that the list of machines shows."
            )
        }
        return found.device
    }
}
