package import CRDTCore

/// Which changes hold what peers ask for.
extension StoreTransaction {
    /// The changes whose writes to some properties are in force or in conflict: who has these needs no others.
    ///
    /// Properties that are not known here, or of which the peer has the same writes, are passed over.
    /// - Complexity: O(*n* log *m*) for *n* properties, of *m* in the store.
    mutating func changesInForce(at properties: [WantedProperty]) throws(StoreError) -> [SegmentPoint] {
        var (places, known): ([SegmentPoint], Set<SegmentPoint>) = ([], [])
        for property in properties {
            guard let object = try self.existingObjectIndex(of: property.object),
                let name = try self.existingNameIndex(of: property.name)
            else { continue }
            let writes = try self.writesInForce(at: RegisterKey(object: object, name: name))
            guard try self.sum(of: writes) != property.sum else { continue }
            for write in writes where known.insert(write.point).inserted { places.append(write.point) }
            if places.count >= TransferLimits.givenChangeCountMax { break }
        }
        return places
    }

    /// A number that two stores with the same writes in force and in conflict at a property share, and hardly any
    /// others do.
    package mutating func sumInForce(at key: RegisterKey) throws(StoreError) -> UInt64 {
        try self.sum(of: try self.writesInForce(at: key))
    }

    private mutating func sum(of writes: [WriteReference]) throws(StoreError) -> UInt64 {
        var sum: UInt64 = 0
        for write in writes {
            guard let hash = try self.hash(at: write.point) else { continue }
            sum &+= ChangeName(hash).rawValue &* (2 * UInt64(write.index) + 1)
        }
        return sum
    }
}
