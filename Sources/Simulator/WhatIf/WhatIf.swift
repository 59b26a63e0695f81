internal import CRDTCore
internal import Engine

/// What would happen if some devices met, as far as copies of their data directories tell.
struct WhatIf {
    /// How it is asked.
    struct Options: Sendable {
        var link: Link
        /// The time at which they meet.
        var now: WallTime
        /// How many orders to draw, also where all could be tried; nil for the usual.
        var orderCount: Int?
        var seed: UInt64 = 1
    }

    /// What two devices would send each other if they met now.
    struct Transfer {
        var pair: MeetingOrders.Pair
        var byteCounts: [Int]
        var duration: VirtualTime
        var ending: Meeting.Ending
    }

    private let copies: [DeviceCopy]
    private let options: Options
    private var surveys: [DeviceSurvey] = []
    private var images: [DiskImage] = []

    /// How many orders are drawn where there are too many to try all.
    static let usualOrderCount = 100

    /// Answers for some directories, which are only read.
    static func report(
        on paths: [String],
        _ options: Options,
        _ advance: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws(WhatIfFailure) -> WhatIfReport {
        guard paths.count > 1 else { throw WhatIfFailure(.unfit, "Name two data directories or more.") }
        var whatIf = WhatIf(copies: try DeviceCopy.read(paths), options: options)
        try whatIf.prepare()
        let transfers: [Transfer]
        do throws(StoreError) { transfers = try whatIf.transfers() } catch { throw WhatIf.failure(error) }
        try whatIf.requireAcquaintance(transfers)
        do throws(StoreError) { return try whatIf.report(transfers, advance) } catch { throw WhatIf.failure(error) }
    }

    private init(copies: [DeviceCopy], options: Options) {
        self.copies = copies
        self.options = options
    }

    /// Opens every copy as its device would when it starts.
    private mutating func prepare() throws(WhatIfFailure) {
        for copy in self.copies {
            do throws(StoreError) {
                let open = try OpenCopy(copy.image, origin: copy.origin, endedUncleanly: copy.endedUncleanly)
                try open.prepare(at: self.options.now, founder: copy.founder)
                self.surveys.append(
                    try open.read { transaction throws(StoreError) in try DeviceSurvey(of: &transaction) }
                )
                self.images.append(open.close())
            } catch {
                throw WhatIf.failure(error, copy.path)
            }
        }
    }

    private static func failure(_ error: StoreError) -> WhatIfFailure {
        WhatIfFailure(.unfit, "The copies cannot be merged: \(error).")
    }

    private static func failure(_ error: StoreError, _ path: String) -> WhatIfFailure {
        switch error {
        case .newerSchema:
            WhatIfFailure(.unfit, "The database in \(path) was written by a newer peerd than this program knows.")
        case .damaged: WhatIfFailure(.unfit, "The database in \(path) is damaged; “peerd doctor” tells more.")
        case .unavailable, .diskFull, .inputOutput:
            WhatIfFailure(.unfit, "\(path) holds no database that belongs to the keys beside it.")
        }
    }

    // MARK: - Pairs

    private func transfers() throws(StoreError) -> [Transfer] {
        var transfers: [Transfer] = []
        for left in self.copies.indices {
            for right in left + 1..<self.copies.count {
                let outcome = try Meeting.hold(
                    [self.copies[left], self.copies[right]],
                    [self.images[left], self.images[right]],
                    link: self.options.link,
                    at: self.options.now,
                    seed: UInt64(left * 64 + right)
                )
                transfers.append(
                    Transfer(
                        pair: MeetingOrders.Pair(left: left, right: right),
                        byteCounts: outcome.byteCounts,
                        duration: outcome.duration,
                        ending: outcome.ending
                    )
                )
            }
        }
        return transfers
    }

    /// Each device must be able to reach each other, if only by way of the rest.
    private func requireAcquaintance(_ transfers: [Transfer]) throws(WhatIfFailure) {
        var reached: Set<Int> = [0]
        for _ in self.copies {
            for transfer in transfers where transfer.ending != .strangers {
                if reached.contains(transfer.pair.left) { reached.insert(transfer.pair.right) }
                if reached.contains(transfer.pair.right) { reached.insert(transfer.pair.left) }
            }
        }
        guard let stranger = self.copies.indices.first(where: { !reached.contains($0) }) else { return }
        throw WhatIfFailure(
            .unfit,
            "\(self.copies[stranger].path) and \(self.copies[0].path) do not know each other: the devices were paired "
                + "with others and have not heard of each other yet. Give the directory of one that knows both too."
        )
    }

    // MARK: - All together

    private func report(
        _ transfers: [Transfer],
        _ advance: @escaping @Sendable (Int) -> Void
    ) throws(StoreError) -> WhatIfReport {
        var sampled = self.options.orderCount.map { (count: max(1, $0), seed: self.options.seed) }
        if self.copies.count > MeetingOrders.exhaustiveCountMax, sampled == nil {
            sampled = (WhatIf.usualOrderCount, self.options.seed)
        }
        let orders = try MeetingOrders.run(
            self.copies,
            self.images,
            self.surveys,
            link: self.options.link,
            at: self.options.now,
            sampled: sampled,
            advance
        )
        var forecast: Forecast?
        if let ending = orders.first {
            var initial: [OpenCopy] = []
            for (copy, image) in zip(self.copies, self.images) {
                initial.append(try OpenCopy(image, origin: copy.origin))
            }
            forecast = try ForecastMaking.forecast(
                self.copies,
                self.surveys,
                initial: initial,
                merged: OpenCopy(ending.image, origin: self.copies[ending.owner].origin),
                at: self.options.now
            )
        }
        return WhatIfReport(
            devices: zip(self.copies, self.surveys).map { copy, survey in
                WhatIfReport.Device(
                    name: PlainLine.printable(copy.name),
                    path: copy.path,
                    id: copy.device,
                    objectCount: survey.visibleObjectCount
                )
            },
            link: self.options.link,
            transfers: transfers,
            orders: orders,
            forecast: forecast
        )
    }
}
