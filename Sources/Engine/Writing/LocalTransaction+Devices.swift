package import CRDTCore
internal import PeerCrypto

/// What removing a device did.
package struct DeviceRemovalReport: Hashable, Sendable {
    /// The device, and those that it has vouched for and that go with it.
    package var removed: Set<DeviceID> = []
    /// Changes of theirs that are here and count no more.
    package var cutChangeCount: UInt64 = 0
}

/// Devices that are lost or stolen.
extension LocalTransaction {
    /// Takes all rights from a device, and from those that it has vouched for but for some: in all circles where this
    /// user writes, and in the roster, so that the sessions of others with it end, too.
    ///
    /// What is here of their changes stays; with a time, only what their chains say to be from before it. A fork that
    /// came after its chain may lie about that, and is cut off where it begins.
    ///
    /// `keep`: devices that it has vouched for, and that stay with those that they have vouched for. `takesOthers`:
    /// whether the rest of these go with it.
    /// - Throws: `WriteRefusal` if the device is this one, or stands above it, if one that is to stay does not stand
    ///   below it, or if others would go that are not to.
    package mutating func remove(
        device: DeviceID,
        keeping keep: Set<DeviceID> = [],
        takingOthers takesOthers: Bool = false,
        since time: WallTime? = nil
    ) throws(WriteRefusal) -> DeviceRemovalReport {
        try self.planning { local throws(WriteRefusal) in
            guard let own = local.author, device != local.device else { throw .isThisDevice }
            let authors = local.authors()
            // One that is not in the log yet has written nothing; whoever has let it in stands above it.
            let target = authors[device]
            let user = target?.user ?? own.user
            if let target, user == own.user, !own.standsAbove(target) { throw .standsAbove(device) }
            for kept in keep {
                guard authors[kept]?.line.dropFirst().contains(device) ?? false, keep.count <= Limits.keptDeviceCountMax
                else { throw .notBelow(kept, device) }
            }
            let hit = Set(
                authors.filter { author in
                    guard let place = author.value.line.firstIndex(of: device) else { return false }
                    return author.value.user == user && !author.value.line[..<place].contains(where: keep.contains)
                }.keys
            ).union([device])
            var report = DeviceRemovalReport(removed: hit)
            if hit.contains(local.device) { throw .isThisDevice }
            if !takesOthers, hit.count > 1 { throw .takesOthers(local.names(of: hit.subtracting([device]))) }
            var circles = local.circles(of: own, with: hit, of: user)
            // Where nobody has ever been let in the roster is new.
            if !circles.contains(.roster), user == own.user || own.user == local.founder { circles.append(.roster) }
            for circle in circles {
                let heads = try WriteRefusal.from { () throws(StoreError) in
                    try local.store.heads(in: circle, until: time, cutting: &report.cutChangeCount) { introduction in
                        introduction.device.map(hit.contains) ?? false
                    }
                }
                let removal = RightsStatement.DeviceRemoval(of: device, keep: keep.sorted(), heads: heads)
                try local.plan.append(.rights(.removesDevice(removal)), in: circle)
            }
            return report
        }
    }

    /// Who writes each device's chains, by its certificates of the highest generation.
    private func authors() -> [DeviceID: ChainAuthor] {
        var authors: [DeviceID: ChainAuthor] = [:]
        for segment in self.store.segmentIndices {
            guard let introduction = self.store.segment(segment).introduction, let device = introduction.device,
                let author = ChainAuthor(introduction)
            else { continue }
            if authors[device].map({ $0.generation < author.generation }) ?? true { authors[device] = author }
        }
        // It may have been certified anew, and not have written since.
        if let author = self.author { authors[self.device] = author }
        return authors
    }

    /// What devices are called, as far as that is known.
    private func names(of devices: Set<DeviceID>) -> [String] {
        var names: [DeviceID: String] = [:]
        for segment in self.store.segmentIndices {
            guard let introduction = self.store.segment(segment).introduction, let device = introduction.device,
                devices.contains(device)
            else { continue }
            names[device] = introduction.deviceName
        }
        return names.values.sorted()
    }

    /// The circles where a removal by this user may turn something: his own, and those of others where devices of his
    /// have written or may write.
    private func circles(
        of own: ChainAuthor,
        with devices: Set<DeviceID>,
        of user: UserID
    ) -> [Circle] {
        var written: Set<CircleIndex> = []
        for segment in self.store.segmentIndices {
            if let device = self.store.segment(segment).introduction?.device, devices.contains(device) {
                written.insert(self.store.progress(of: segment).circle)
            }
        }
        return (0..<UInt32(self.store.circles.count)).map { CircleIndex(rawValue: $0) }.filter { index in
            let rights = self.store.rights.rights(in: index)
            if self.store.circles[index].owner(founder: self.founder) == own.user {
                return user == own.user || written.contains(index) || rights?.hasGranted(user) ?? false
            }
            return user == own.user && !(rights?.standingGrants(to: own).isEmpty ?? true)
        }
        .map { self.store.circles[$0] }
    }
}

extension ChainAuthor {
    /// Whether it vouches for another device of its user, directly or through others, or is of a later generation.
    fileprivate func standsAbove(_ other: ChainAuthor) -> Bool {
        self.user == other.user
            && (other.line.dropFirst().contains(self.line[0]) || self.generation > other.generation)
    }
}

extension StoreTransaction {
    /// The last changes of some chains in a circle, of those that came here first if there are more than a removal may
    /// name: who is to be removed could have opened any number.
    ///
    /// `time`: up to which the chains say that the changes are; nil for all that is here. `count` rises by the changes
    /// behind these.
    mutating func heads(
        in circle: Circle,
        until time: WallTime? = nil,
        cutting count: inout UInt64,
        of isWanted: (Introduction) -> Bool
    ) throws(StoreError) -> [NamedChange] {
        guard let number = self.circles.index(of: circle) else { return [] }
        var heads: [NamedChange] = []
        for segment in self.segmentIndices {
            let progress = self.progress(of: segment)
            guard progress.circle == number, let introduction = self.segment(segment).introduction,
                isWanted(introduction)
            else { continue }
            var end = progress.storedSequence
            if let time {
                end = try self.segment(segment).origin == nil ? self.end(of: segment, until: time) : 0
            }
            let first = progress.firstSequence
            count += progress.storedSequence + 1 - max(first, min(progress.storedSequence + 1, end + 1))
            let place = SegmentPoint(segment: segment, sequence: end)
            guard end >= first, heads.count < Limits.removalHeadCountMax, let hash = try self.hash(at: place) else {
                continue
            }
            heads.append(NamedChange(replica: self.replicaID(segment), sequence: end, hash: hash))
        }
        return heads
    }

    /// The sequence of the last change of a segment that says to be from a time or before it; 0 if there is none.
    private mutating func end(of segment: SegmentIndex, until time: WallTime) throws(StoreError) -> UInt64 {
        let progress = self.progress(of: segment)
        var (low, high) = (progress.firstSequence, progress.storedSequence + 1)
        while low < high {
            let middle = low + (high - low) / 2
            let stamp = try self.header(at: SegmentPoint(segment: segment, sequence: middle))?.stamp ?? .zero
            if stamp.milliseconds <= time.milliseconds { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }
}
