package import CRDTCore
package import Engine
public import Foundation
internal import PeerdKit
internal import Persistence

/// The arguments of a preview.
package struct PreviewOptions: Sendable {
    package var link: Preview.Link
    /// The number of orders to draw, also where all could be tried; nil for the usual.
    package var orderCount: Int?
    package var seed: UInt64
    /// The time at which the devices sync.
    package var now: WallTime
    /// What the devices deferred meanwhile.
    package var lateWork = LateWorkLimits()

    package init(link: Preview.Link = .wifi, orderCount: Int? = nil, seed: UInt64 = 1, now: WallTime) {
        self.link = link
        self.orderCount = orderCount
        self.seed = seed
        self.now = now
    }

    private static let intervalMilliseconds: UInt64 = 60_000

    /// Returns the time of a sync by its number in its order.
    func time(ofSync number: Int) -> WallTime {
        self.now.advanced(byMilliseconds: UInt64(number) * Self.intervalMilliseconds)
    }

    /// Returns the time after the last sync of the longest order.
    ///
    /// Each sync brings one of the devices the changes of another one; then all devices may sync with the first one,
    /// twice.
    func endTime(deviceCount: Int) -> WallTime {
        self.time(ofSync: deviceCount * (deviceCount - 1) + 2 * (deviceCount - 1))
    }
}

extension Preview {
    /// Computes the outcome of bringing the devices of some data directories together.
    ///
    /// The databases are copied to a temporary directory that only the user can enter. It is removed before this
    /// returns or throws. The keys stay in memory. The data directories stay as they are to the byte; no other process
    /// may have them open for writing meanwhile.
    ///
    /// - Parameters:
    ///   - directories: the data directories of two or more devices of one person in one workspace.
    ///   - link: the link over which the transfers are measured.
    ///   - orderCount: the number of orders to draw; nil to try all, or to draw 100 for more than four devices.
    ///   - seed: the seed from which orders are drawn.
    ///   - progress: called with the number of syncs so far, on any thread.
    /// - Returns: the same answer for the same directories, at the same time.
    /// - Throws: ``PeerdError`` with `noWorkspace`, `alreadyOpen`, `invalidArgument` if the directories do not belong
    ///   together, `damaged`, `newerVersion`, `diskFull`, or what a disk can refuse; `CancellationError`.
    /// - Complexity: grows with the number of orders; each sync of an order copies two databases.
    public static func of(
        _ directories: [URL],
        link: Link = .wifi,
        orderCount: Int? = nil,
        seed: UInt64 = 1,
        progress: (@Sendable (_ syncCount: Int) -> Void)? = nil
    ) async throws -> Preview {
        let now = SystemClock.now().wall
        let options = PreviewOptions(link: link, orderCount: orderCount, seed: seed, now: now)
        return try await self.of(directories, options, progress: progress)
    }

    /// Computes the same for a given time.
    package static func of(
        _ directories: [URL],
        _ options: PreviewOptions,
        progress report: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Preview {
        guard directories.count > 1 else {
            throw PeerdError(
                .invalidArgument,
                "A preview needs two data directories or more.",
                advice: "Name the directory of another device, too."
            )
        }
        let progress = PreviewProgress(report)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                PreviewThread.makeQueue().async {
                    continuation.resume(with: Result { try PreviewRun.preview(of: directories, options, progress) })
                }
            }
        } onCancel: {
            progress.cancel()
        }
    }
}

/// The steps of a preview.
struct PreviewRun {
    private let devices: [PreviewedDevice]
    private let options: PreviewOptions
    private let progress: PreviewProgress
    private var summaries: [StateSummary] = []

    static func preview(
        of directories: [URL],
        _ options: PreviewOptions,
        _ progress: PreviewProgress
    ) throws -> Preview {
        do {
            return try ScratchDirectory.with { scratch in
                let devices = try PreviewedDevice.read(directories, in: scratch)
                var run = PreviewRun(devices: devices, options: options, progress: progress)
                try run.prepare()
                return try run.preview()
            }
        } catch let error as StoreError {
            throw error == .diskFull ? ScratchDirectory.isFull : PeerdError(error)
        }
    }

    private func preview() throws -> Preview {
        let transfers = try self.transfers()
        try self.requireAcquaintance(transfers)
        let found = try SyncOrders.search(self.devices, self.summaries, self.options, self.progress)
        let comparison = MergeComparison(
            devices: self.devices,
            summaries: self.summaries,
            options: self.options,
            progress: self.progress
        )
        let merged = try found.first.map { try comparison.outcome(of: $0) }
        return Preview(
            devices: self.devices.enumerated().map { number, device in
                Preview.Device(
                    id: device.id,
                    name: device.name,
                    directory: device.directory,
                    objectCount: self.summaries[number].visibleObjectCount,
                    missing: merged?.missing[number]
                )
            },
            link: self.options.link,
            transfers: transfers,
            orders: found.orders,
            outcome: merged?.outcome
        )
    }

    // MARK: - Copies

    /// Opens every copy as its device would when it starts.
    private mutating func prepare() throws {
        for device in self.devices {
            try self.progress.checkCancellation()
            do throws(StoreError) {
                self.summaries.append(try device.settle(device.database, at: self.options.now))
            } catch {
                throw Self.failure(error, of: device.path)
            }
        }
    }

    /// Says of a copy that cannot be used which directory it is of.
    private static func failure(_ error: StoreError, of path: String) -> any Error {
        switch error {
        case .newerSchema:
            PeerdError(
                .newerVersion,
                "The database in \(path) was written by a newer peerd.",
                advice: "Install that version."
            )
        case .earlierSchema:
            PeerdError(
                .storageFailed,
                "The database in \(path) was written by an earlier peerd.",
                advice: "Export it with that version, and import the export into a new workspace."
            )
        case .damaged:
            PeerdError(
                .damaged,
                "The database in \(path) is damaged.",
                advice: "Find out more with a diagnosis of that directory."
            )
        case .unavailable:
            PeerdError(
                .damaged,
                "\(path) holds no database that belongs to the keys beside it.",
                advice: "Put the right database back beside them."
            )
        case .diskFull, .inputOutput, .moved, .locked, .compacted: error
        }
    }

    // MARK: - Pairs

    private func transfers() throws -> [Preview.Transfer] {
        var transfers: [Preview.Transfer] = []
        for left in self.devices.indices {
            for right in left + 1..<self.devices.count {
                try self.progress.checkCancellation()
                let pair = [self.devices[left], self.devices[right]]
                let outcome = try PairSync.run(
                    pair,
                    pair.map(\.database),
                    self.options,
                    at: self.options.now,
                    seed: UInt64(left * 64 + right),
                    self.progress
                )
                transfers.append(
                    Preview.Transfer(
                        devices: Preview.Pair(first: pair[0].id, second: pair[1].id),
                        byteCountFromFirst: outcome.byteCounts[0],
                        byteCountFromSecond: outcome.byteCounts[1],
                        duration: .microseconds(outcome.duration),
                        ending: outcome.ending
                    )
                )
            }
        }
        return transfers
    }

    /// Stops where a device cannot reach another one, not even through the rest.
    private func requireAcquaintance(_ transfers: [Preview.Transfer]) throws {
        var reached: Set<Preview.Device.ID> = [self.devices[0].id]
        for _ in self.devices {
            for transfer in transfers where transfer.ending != .strangers {
                let pair = [transfer.devices.first, transfer.devices.second]
                if pair.contains(where: { reached.contains($0) }) { reached.formUnion(pair) }
            }
        }
        guard let stranger = self.devices.first(where: { !reached.contains($0.id) }) else { return }
        throw PeerdError(
            .invalidArgument,
            "\(stranger.path) and \(self.devices[0].path) do not know each other yet.",
            advice: "Name the directory of a device that knows both, too."
        )
    }
}
