/// A digest of the settled state: of what is in force, where everything stands, and what that says.
///
/// Two devices with equal frontiers have the same. It is read from the rows that users see, and not kept up by whatever
/// writes them, so it also notices what a fault, or another program, did to those. It is a sum of hashes in each of
/// some groups of objects, so that one object is taken out and put in again for the cost of that object alone, and two
/// devices find those that differ by way of the groups. A sum finds faults; whoever may choose what is summed can make
/// two sums equal (D. Wagner, "A Generalized Birthday Problem", 2002), if he first makes honest devices differ.
package struct SettledDigest: Sendable {
    /// The groups that objects fall into, by a hash of their ids.
    package static let groupCount = 1024

    /// The first bytes of the hash of each object, by its number, and its group.
    private var objects: [UInt64] = []
    private var groups: [UInt16] = []
    /// The numbers of objects of whose content something is missing: what is in force there is not known yet.
    private var incomplete: Set<UInt32> = []
    /// The sum of the objects of each group.
    package private(set) var sums = [UInt64](repeating: 0, count: SettledDigest.groupCount)
    /// The number of objects of each group that have a state.
    package private(set) var counts = [Int](repeating: 0, count: SettledDigest.groupCount)
    /// Up to where the changes of objects are in it.
    private var place = ChangePlace(commit: 0, object: -1)

    package init() {}

    /// Whether it holds all that a store has committed.
    package func isCurrent(in transaction: some StoreTransaction) -> Bool {
        self.place >= .end(of: transaction.lastCommit)
    }

    /// Takes in objects that have changed, until so many objects and properties were looked at.
    ///
    /// An object with more properties than that is looked at as a whole.
    /// - Returns: how many were looked at.
    package mutating func step(
        upTo costMax: Int,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) -> Int {
        var cost = 0
        let isComplete = try transaction.isComplete()
        while cost < costMax {
            let limit = min(256, costMax - cost)
            let changed = try transaction.changePlaces(after: self.place, limit: limit)
            for place in changed {
                guard cost < costMax, let number = UInt32(exactly: place.object) else { break }
                let object = ObjectIndex(rawValue: number)
                cost += 1 + (try self.take(object, in: &transaction, cryptography))
                let missesContent = isComplete ? false : try transaction.missesContent(of: object)
                if missesContent { self.incomplete.insert(number) } else { self.incomplete.remove(number) }
                self.place = place
            }
            guard changed.count < limit, changed.last.map({ $0 == self.place }) ?? true else { continue }
            self.place = .end(of: transaction.lastCommit)
            break
        }
        return cost
    }

    private mutating func take(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) -> Int {
        let position = Int(object.rawValue)
        let content = try ObjectContent(of: object, in: &transaction)
        if position >= self.objects.count {
            // An object is an id that was given a number, and all numbers are given out in order.
            self.objects += Array(repeating: 0, count: position + 1 - self.objects.count)
            self.groups += Array(repeating: .max, count: position + 1 - self.groups.count)
        }
        if self.groups[position] == .max {
            let hash = cryptography.hash256(.state, content.id.bytes.array).words.0
            self.groups[position] = UInt16(hash % UInt64(Self.groupCount))
        }
        let digest = content.bytes.map { cryptography.hash256(.state, $0).words.0 } ?? 0
        let group = Int(self.groups[position])
        self.sums[group] &+= digest &- self.objects[position]
        self.counts[group] += (digest == 0 ? 0 : 1) - (self.objects[position] == 0 ? 0 : 1)
        self.objects[position] = digest
        return content.propertyCount
    }

    /// All in one.
    package func root(_ cryptography: some ChangeCryptography) -> Hash256 {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.sums.count * 8)
        for sum in self.sums { bytes.appendBigEndian(sum) }
        return Hash256(bytes: cryptography.hash256(.state, bytes))
    }

    /// The objects of some groups that have a state, so many at most, in the order of their ids.
    ///
    /// - Complexity: O(*n*) in all objects, and a look at each of the groups.
    package func objects(
        of groups: [Int],
        upTo limit: Int,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [ObjectDigest] {
        let wanted = Set(groups.map { UInt16($0) })
        var found: [ObjectDigest] = []
        for (position, group) in self.groups.enumerated() where self.objects[position] != 0 && wanted.contains(group) {
            let number = UInt32(position)
            let id = try transaction.look(at: ObjectIndex(rawValue: number)) { $0.id }
            let digest = self.incomplete.contains(number) ? ObjectDigest.incomplete : self.objects[position]
            found.append(ObjectDigest(id: id, digest: digest))
        }
        // Of a group that is too large what comes first, which is the same on both sides.
        return Array(found.sorted { $0.id < $1.id }.prefix(limit))
    }
}

/// The digest of one object.
package struct ObjectDigest: Hashable, Sendable {
    package var id: ObjectID
    package var digest: UInt64

    /// In place of a digest: some of the object's content is missing, and is being asked for.
    package static let incomplete: UInt64 = 0

    package init(id: ObjectID, digest: UInt64) { (self.id, self.digest) = (id, digest) }
}

/// What is settled of an object, as bytes that are the same on every device.
private struct ObjectContent {
    let id: ObjectID
    /// Nil for one that is only referred to.
    private(set) var bytes: [UInt8]?
    private(set) var propertyCount = 0

    init(of object: ObjectIndex, in transaction: inout some StoreTransaction) throws(StoreError) {
        let record = try transaction.object(object)
        let registers = try transaction.registers(of: object).filter { $0.0 != .lifetime }
        self.id = record.id
        self.propertyCount = registers.count
        guard record.creation != nil || !registers.isEmpty || record.existence.isAlive else { return }
        var bytes: [UInt8] = []
        record.id.bytes.append(to: &bytes)
        // A write is named by what every device calls it, whether its chain has forked or not.
        bytes.append((record.isVisible ? 1 : 0) | (record.existence.isAlive ? 2 : 0))
        bytes.appendBigEndian(record.updated.rawValue)
        if let creation = record.creation {
            bytes.appendBigEndian(creation.write.stamp.rawValue)
            transaction.replicaID(creation.write.segment).bytes.append(to: &bytes)
            bytes.appendBigEndian(creation.write.ordinal.rawValue)
            bytes.appendPrefixed(try transaction.name(creation.type))
            bytes.appendPrefixed(try transaction.name(creation.kind))
        }
        if let parent = record.parent { try transaction.look(at: parent) { $0.id }.bytes.append(to: &bytes) }
        bytes.appendPrefixed(record.position.bytes)
        bytes.appendVarint(UInt64(record.otherOpenMoves.count))
        let values = try StateExport.properties(of: object, in: &transaction)
        var lines: [(name: String, register: Register)] = []
        for (name, register) in registers { lines.append((try transaction.name(name), register)) }
        for (name, register) in lines.sorted(by: { ExactText($0.name) < ExactText($1.name) }) {
            bytes.appendPrefixed(name)
            // Its stamp may change by a restamp that changes nothing else, of which nobody is told.
            transaction.replicaID(register.winner.segment).bytes.append(to: &bytes)
            bytes.appendBigEndian(register.winner.ordinal.rawValue)
            bytes.appendVarint(UInt64(register.conflictCount))
            bytes.appendVarint(UInt64(max(0, register.writeCount)))
            guard let value = values[ExactText(name)] else {
                bytes.append(0)
                continue
            }
            var encoded: [UInt8] = []
            value.encode(to: &encoded)
            bytes.append(1)
            bytes.appendPrefixed(encoded)
        }
        self.bytes = bytes
    }
}

/// Up to where changes of objects have been seen: all of earlier commits, and of one the objects up to a number.
package struct ChangePlace: Hashable, Comparable, Sendable {
    package var commit: Int64
    package var object: Int64

    package init(commit: Int64, object: Int64) { (self.commit, self.object) = (commit, object) }

    /// Behind all that a commit has changed.
    package static func end(of commit: Int64) -> ChangePlace { ChangePlace(commit: commit, object: .max) }

    package static func < (left: ChangePlace, right: ChangePlace) -> Bool {
        left.commit == right.commit ? left.object < right.object : left.commit < right.commit
    }
}
