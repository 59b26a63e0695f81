package import CRDTCore
package import Engine

extension SQLiteTransaction {
    package func pairedDevices() throws(StoreError) -> [PairedDeviceRecord] {
        try self.statements[.pairedDevices].rows { row throws(StoreError) in
            let lapse = row.isNull(1) ? nil : WallTime(milliseconds: row.bits(1))
            return PairedDeviceRecord(introduction: row.bytes(0), lapse: lapse)
        }
    }

    package func setPairedDevices(_ devices: [PairedDeviceRecord]) throws(StoreError) {
        try self.statements[.clearPairedDevices].run()
        let statement = try self.statements[.addPairedDevice]
        for device in devices {
            try statement.run(device.introduction, device.lapse)
        }
    }

    package func invites() throws(StoreError) -> [InviteRecord] {
        try self.statements[.invites].rows { row throws(StoreError) in
            InviteRecord(
                secret: try row.bytes32(0),
                person: row.isNull(1) ? nil : row.text(1),
                expiry: WallTime(milliseconds: row.bits(2))
            )
        }
    }

    package func setInvites(_ invites: [InviteRecord]) throws(StoreError) {
        try self.statements[.clearInvites].run()
        let statement = try self.statements[.addInvite]
        for invite in invites { try statement.run(invite.secret, invite.person, invite.expiry) }
    }

    package func addresses() throws(StoreError) -> [AddressRecord] {
        try self.statements[.addresses].rows { row throws(StoreError) in
            guard let port = UInt16(exactly: row.int64(3)) else {
                throw .damaged("an address in the database has a port that cannot be")
            }
            return AddressRecord(
                device: DeviceID(bytes: try row.bytes32(0)),
                staticKey: StaticKey(bytes: try row.bytes32(1)),
                host: row.text(2),
                port: port
            )
        }
    }

    package func setAddresses(_ addresses: [AddressRecord]) throws(StoreError) {
        try self.statements[.clearAddresses].run()
        let statement = try self.statements[.addAddress]
        for address in addresses {
            try statement.run(address.device.bytes, address.staticKey.bytes, address.host, address.port)
        }
    }
}
