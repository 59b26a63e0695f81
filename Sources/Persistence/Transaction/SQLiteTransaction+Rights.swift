package import CRDTCore

extension SQLiteTransaction {
    package var rights: RightsTable { self.segments.rights }

    package func setRights(_ rights: RightsTable) { self.segments.setRights(rights) }

    package func addRights(_ place: StatementPlace) throws(StoreError) {
        try self.statements[.insertRights].run(place.change, place.index)
        var rights = self.rights
        rights.add(place, in: self.progress(of: place.change.segment).circle)
        self.setRights(rights)
    }

    /// Reads where statements about rights are.
    func loadRights() throws(StoreError) {
        let places = try self.statements[.allRights].rows { row throws(StoreError) in
            guard let index = UInt32(exactly: row.int64(2)) else {
                throw .damaged("a statement about rights in the database cannot be where it is")
            }
            return StatementPlace(change: try self.point(row, at: 0), index: index)
        }
        for place in places { self.segments.restore(place) }
    }
}
